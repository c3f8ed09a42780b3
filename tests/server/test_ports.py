"""Ports of the user's own programs, through a real notebook server: theirs, and nobody else's."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from tests.support.notebook_server import TOKEN, NotebookServer
from tests.support.port_program import (
    ANOTHER_JOB,
    ANOTHER_USER,
    Programs,
    running_programs,
    server_in_a_job,
)
from tests.support.websockets import close_websocket

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become two other users")


@pytest.fixture(scope="module")
def server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    with server_in_a_job(tensorboard_python) as server:
        yield server


@pytest.fixture
def programs() -> Iterator[Programs]:
    with running_programs() as programs:
        yield programs


def ask(
    server: NotebookServer, path: str, method: str = "GET", **kwargs: object
) -> requests.Response:
    return server.http.request(
        method,
        f"{server.host}/user/ada/port/{path}",
        timeout=30,
        allow_redirects=False,
        **kwargs,  # type: ignore[arg-type]
    )


def keyed(server: NotebookServer, port: int) -> str:
    """Return the address that a browser is led to."""
    answer = ask(server, f"{port}/", headers={"Sec-Fetch-Dest": "document"})
    assert answer.status_code == 302
    return server.host + answer.headers["Location"]


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_program_of_the_session_is_asked(
    server: NotebookServer, programs: Programs, address: str
) -> None:
    port = programs.start(address=address)

    answer = ask(server, f"{port}/a%2Fb/c?x=1&x=%20", "POST", data="tags=loss")

    assert answer.ok, server.log_path.read_text()[-3000:]
    said = answer.json()
    assert (said["uri"], said["method"], said["body"]) == (
        "/a%2Fb/c?x=1&x=%20",
        "POST",
        "tags=loss",
    )
    assert said["headers"]["host"] == f"localhost:{port}"
    assert said["headers"]["x-forwarded-prefix"] == f"/user/ada/port/{port}"


def test_it_gets_no_cookie_or_token_and_sets_none(
    server: NotebookServer, programs: Programs
) -> None:
    headers = {"Cookie": "_xsrf=a; session=b", "X-XSRFToken": "a", "Referer": "/?token=c"}

    answer = ask(server, f"{programs.start()}/?token={TOKEN}&tag=loss", headers=headers)

    assert answer.ok, server.log_path.read_text()[-3000:]
    said = answer.json()
    assert said["uri"] == "/?tag=loss"
    assert not {"authorization", "cookie", "x-xsrftoken", "referer"} & set(said["headers"])
    assert "planted" not in answer.headers.get("Set-Cookie", "")
    assert "Clear-Site-Data" not in answer.headers


def test_every_answer_is_sandboxed_whatever_the_program_says(
    server: NotebookServer, programs: Programs
) -> None:
    port = programs.start()
    answers = [
        ask(server, f"{port}/"),
        ask(server, f"{port}/away"),
        ask(server, f"{port}"),
        ask(server, "1/"),
        ask(server, "99999/"),
        ask(server, f"{port}/", headers={"Authorization": "token wrong"}),
        requests.get(keyed(server, port), timeout=30),
        requests.get(f"{server.host}/user/ada/port/{'0' * 32}/{port}/", timeout=30),
    ]

    for answer in answers:
        # Several policies hold together: a second one only takes away.
        first, *_ = answer.raw.headers.getlist("Content-Security-Policy")
        assert "sandbox allow-downloads" in first, answer.url
        assert "allow-same-origin" not in first


def test_a_page_is_led_to_where_its_own_requests_need_no_cookie(
    server: NotebookServer, programs: Programs
) -> None:
    url = keyed(server, programs.start())

    page = requests.get(url, headers={"Origin": "null"}, timeout=30)
    sent = requests.post(f"{url}send", data="x", headers={"Origin": "null"}, timeout=30)
    asked = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-own"}
    may = requests.options(url, headers={"Origin": "null", **asked}, timeout=30)

    assert page.json()["uri"] == "/"
    assert page.headers["Access-Control-Allow-Origin"] == "*"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert (sent.json()["method"], sent.json()["body"]) == ("POST", "x")
    assert may.status_code == 204
    assert may.headers["Access-Control-Allow-Methods"] == "PUT"
    assert may.headers["Access-Control-Allow-Headers"] == "x-own"


def test_without_a_login_or_the_key_nothing_is_asked(
    server: NotebookServer, programs: Programs
) -> None:
    port = programs.start()
    url = f"{server.host}/user/ada/port"

    def status(method: str, path: str) -> int:
        answer = requests.request(method, f"{url}/{path}", timeout=30, allow_redirects=False)
        return answer.status_code

    assert (status("GET", f"{port}/"), status("POST", f"{port}/")) == (302, 403), "to the login"
    for path in (f"{'0' * 32}/{port}/", f"{'a' * 32}/{port}/x"):
        assert (status("GET", path), status("POST", path)) == (404, 404), path
    assert programs.asked() == ""


def test_a_page_at_an_address_of_before_leads_to_the_login_and_the_address_of_now(
    server: NotebookServer, programs: Programs
) -> None:
    port = programs.start()
    old = f"{'0' * 32}/{port}/a%2Fb?x=1"
    page = {"Sec-Fetch-Dest": "document"}

    led = ask(server, old, headers=page)
    nobody = requests.get(
        server.host + led.headers["Location"], headers=page, timeout=30, allow_redirects=False
    )
    owner = ask(server, f"{port}/a%2Fb?x=1", headers=page)

    assert led.headers["Location"] == f"/user/ada/port/{port}/a%2Fb?x=1"
    assert nobody.headers["Location"].startswith("/user/ada/login")
    assert owner.headers["Location"] == f"{keyed(server, port)[len(server.host) :]}a%2Fb?x=1"
    # What a page of a program asks for itself comes without cookies: nothing helps but another one.
    assert "load the page again" in ask(server, old).text


def test_a_redirect_of_the_program_stays_below_its_place(
    server: NotebookServer, programs: Programs
) -> None:
    port = programs.start()

    answer = ask(server, f"{port}/away")

    assert (answer.status_code, answer.headers["Location"]) == (302, f"/user/ada/port/{port}/login")
    assert ask(server, f"{port}").headers["Location"] == f"/user/ada/port/{port}/"


@needs_root
def test_a_port_of_another_user_is_refused_and_nothing_arrives(
    server: NotebookServer, programs: Programs
) -> None:
    port = programs.start(user_id=ANOTHER_USER)

    for answer in (ask(server, f"{port}/"), requests.get(keyed(server, port), timeout=30)):
        assert answer.status_code == 403
        assert "was not started in this session, so nothing was sent to it" in answer.text
    assert programs.asked() == ""


def test_a_port_of_another_session_of_the_user_is_refused(
    server: NotebookServer, programs: Programs
) -> None:
    answer = ask(server, f"{programs.start(job_id=ANOTHER_JOB)}/")

    assert answer.status_code == 403
    assert programs.asked() == ""


def test_a_port_where_nothing_listens_says_what_to_do(server: NotebookServer) -> None:
    answer = ask(server, "1/")

    assert answer.status_code == 502
    assert "Nothing listens on port 1 of 127.0.0.1. Start your program" in answer.text


async def test_a_websocket_carries_both_ways_without_secrets(
    server: NotebookServer, programs: Programs
) -> None:
    port = programs.start()
    plain = f"ws{server.host[4:]}/user/ada/port/{port}/socket"
    secrets = {"Authorization": f"token {TOKEN}", "Cookie": "session=b", "X-XSRFToken": "a"}
    requests_ = (
        HTTPRequest(plain, headers=secrets),
        HTTPRequest(f"ws{keyed(server, port)[4:]}socket", headers={"Origin": "null"}),
    )

    for request in requests_:
        socket = await websocket_connect(request, subprotocols=["own"])
        names = str(await socket.read_message()).split()
        assert not {"authorization", "cookie", "x-xsrftoken"} & set(names)
        assert socket.selected_subprotocol == "own"
        for message in ("text", b"\0binary", "x" * 300_000):
            await socket.write_message(message, binary=isinstance(message, bytes))
            assert await socket.read_message() == message
        await close_websocket(socket)


async def test_a_websocket_of_another_site_or_without_login_is_refused(
    server: NotebookServer, programs: Programs
) -> None:
    url = f"ws{server.host[4:]}/user/ada/port/{programs.start()}/socket"
    with requests.Session() as browser:
        browser.get(f"{server.host}/user/ada/tree?token={TOKEN}", timeout=30)
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies)

    elsewhere = {"Cookie": cookies, "Origin": "https://elsewhere.example"}
    for headers, code in ((elsewhere, 403), ({}, 302)):
        with pytest.raises(HTTPClientError) as refused:
            await websocket_connect(HTTPRequest(url, headers=headers, follow_redirects=False))
        assert refused.value.code == code
