"""What the hub says of itself to everybody, and its answers to what nobody sends by accident."""

import http.client
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.hub.private_hub import Browser, PrivateHub
from tests.hub.test_overview import words
from tests.support.eventually import eventually

PATHS = [
    *("/hub/login", "/hub/api", "/hub/api/users", "/hub/health", "/hub/no-such-page", "/"),
    *("/hub/static/css/style.min.css", "/hub/portal/static/portal.css", "/hub/logo"),
]


def api_port(hub: PrivateHub) -> int:
    """Return the port of the hub itself, behind the proxy."""
    settings = (hub.log_path.parent / "portal.toml").read_text()
    return int(re.findall(r"api_port = (\d+)", settings)[0])


@pytest.fixture
def ada(hub: PrivateHub) -> Browser:
    browser = Browser(hub)
    assert browser.log_in("ada").url.endswith("/hub/home")
    return browser


def said_in_words(answer: requests.Response) -> str:
    """Return what an answer says; it is no traceback."""
    assert "Traceback" not in answer.text
    return answer.text


@pytest.mark.parametrize("path", PATHS)
def test_no_answer_names_a_program_or_its_version(hub: PrivateHub, path: str) -> None:
    answer = requests.get(f"{hub.url}{path}", allow_redirects=False, timeout=10)

    assert "Server" not in answer.headers
    assert "X-JupyterHub-Version" not in answer.headers


def test_sessions_learn_the_version_of_the_hub_itself(hub: PrivateHub) -> None:
    answer = requests.get(f"http://127.0.0.1:{api_port(hub)}/hub/api", timeout=10)

    assert re.fullmatch(r"\d+\.\d+\.\d+", answer.headers["X-JupyterHub-Version"])


def test_only_who_is_logged_in_reads_the_version_of_the_interface(ada: Browser) -> None:
    stranger = requests.get(f"{ada.hub.url}/hub/api", timeout=10)

    assert stranger.status_code == 200
    assert "version" not in stranger.json()
    assert "version" in ada.get("/hub/api", headers={"X-XSRFToken": ada.xsrf()}).json()


@pytest.mark.parametrize("path", ["/hub/login", "/hub/home", "/hub/no-such-page"])
def test_no_page_of_elsewhere_keeps_a_hold_on_one_of_the_hub(ada: Browser, path: str) -> None:
    assert ada.get(path).headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_a_login_without_fields_is_refused_in_a_sentence(hub: PrivateHub) -> None:
    browser = Browser(hub)
    browser.get("/hub/login")

    for form in ({}, {"password": "x"}):
        page = browser.http.post(
            f"{hub.url}/hub/login", data={"_xsrf": browser.xsrf(), **form}, timeout=10
        )
        assert page.status_code == 400
        assert "form on the login page" in said_in_words(page)


@pytest.mark.parametrize("path", ["/hub/static/%00", "/hub/portal/static/%00", "/hub/static/a%00b"])
def test_a_file_that_no_file_system_can_have_is_not_found(hub: PrivateHub, path: str) -> None:
    answer = requests.get(f"{hub.url}{path}", timeout=10)

    assert answer.status_code == 404
    said_in_words(answer)


@pytest.mark.parametrize(
    ("path", "status"),
    # The second leads below /hub/, where it is refused.
    [("/hub/%ff%fe", 400), ("/%ff%fe", 302), ("/hub/user/%ff%fe/", 400), ("/hub/api/%ff", 400)],
)
def test_bytes_that_are_no_text_are_answered_with_an_error_of_the_asker(
    hub: PrivateHub, path: str, status: int
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", api_port(hub), timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()

    assert answer.status == status
    assert "Traceback" not in text


def test_the_route_that_told_whose_a_token_is_is_gone(ada: Browser) -> None:
    answer = ada.http.post(
        f"{ada.hub.url}/hub/api/users/ada/tokens",
        json={"expires_in": 60},
        headers={"X-XSRFToken": ada.xsrf()},
        timeout=10,
    )
    token = answer.json()["token"]

    for headers in ({}, {"Authorization": f"token {token}"}):
        asked = requests.get(
            f"{ada.hub.url}/hub/api/authorizations/token/{token}", headers=headers, timeout=10
        )
        assert asked.status_code == 404
        assert "/hub/api/user" in said_in_words(asked)


@pytest.mark.parametrize("body", ["[]", "0", '""', "false", "[1]", '"gpus"'])
def test_a_start_takes_an_object_or_nothing(ada: Browser, body: str) -> None:
    answer = ada.http.post(
        f"{ada.hub.url}/hub/api/users/ada/server",
        data=body,
        headers={"X-XSRFToken": ada.xsrf(), "Content-Type": "application/json"},
        timeout=10,
    )

    assert answer.status_code == 400
    assert "object" in json.loads(said_in_words(answer))["message"]
    assert "Stop My Server" not in ada.get("/hub/home").text


def test_control_characters_of_an_address_do_not_reach_the_log(ada: Browser) -> None:
    ada.get("/hub/user/%1b[31m%00%c2%9bmarked/lab")
    ada.get("/hub/spawn/%1b[31m%00%c2%9bmarked")

    # The proxy writes to the same file, in colours.
    text = ada.hub.log_path.read_text()
    lines = [line for line in text.split("\n") if "ConfigProxy" not in line]
    assert any("x1b[31m" in line and "marked" in line for line in lines)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\n".join(lines))


def test_of_several_starts_at_once_one_starts_and_the_others_are_told(
    ada: Browser, hub: PrivateHub
) -> None:
    headers = {"X-XSRFToken": ada.xsrf(), "Referer": f"{hub.url}/hub/home"}

    def start(_: int) -> requests.Response:
        url = f"{hub.url}/hub/api/users/ada/server"
        return requests.post(
            url, json={"gpus": 1}, headers=headers, cookies=ada.http.cookies, timeout=60
        )

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(start, range(8)))

    statuses = {answer.status_code for answer in answers}
    assert statuses & {201, 202}
    assert statuses <= {201, 202, 409}, [answer.text for answer in answers]
    for answer in answers:
        assert answer.status_code != 409 or "Another request" in answer.json()["message"]
    hub.set_cluster(step=99)
    eventually(lambda: "Running" in words(ada.get("/hub/home")), timeout_s=30)
    ada.stop("ada")
    eventually(lambda: "Not running" in words(ada.get("/hub/home")), timeout_s=30)
