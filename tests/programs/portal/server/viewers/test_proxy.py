"""What a browser and TensorBoard get to see of each other."""

from typing import Any

import pytest
import requests

from tests.support.notebook_server import TOKEN, NotebookServer

Board = dict[str, Any]


@pytest.fixture
def board(notebook_server: NotebookServer) -> Board:
    return notebook_server.open("logs")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_every_method_is_passed_on_and_the_answer_back(
    notebook_server: NotebookServer, board: Board, method: str
) -> None:
    body = "" if method in {"GET", "OPTIONS"} else "tags=loss"

    answer = notebook_server.page(board, "data/plugin?tag=a%2Fb&x=%20", method=method, data=body)

    assert answer.status_code == 299
    assert answer.headers["Content-Type"] == "application/x-said-back"
    said = answer.json()
    assert (said["method"], said["body"]) == (method, body)
    assert said["path"] == f"{board['url']}data/plugin?tag=a%2Fb&x=%20"


def test_head_gets_the_headers_alone(notebook_server: NotebookServer, board: Board) -> None:
    answer = notebook_server.page(board, "data", method="HEAD")

    assert (answer.status_code, answer.content) == (299, b"")
    assert int(answer.headers["Content-Length"]) > 0


def test_cookies_and_tokens_of_the_session_stay_with_it(
    notebook_server: NotebookServer, board: Board
) -> None:
    headers = {"Cookie": "_xsrf=a; session=b", "X-XSRFToken": "a", "Referer": "/?token=c"}
    query = f"page?token={TOKEN}&tag=loss&_xsrf=a"

    answer = notebook_server.page(board, query, headers={**headers, "Accept": "text/html"})

    said = answer.json()
    assert said["path"].endswith("/page?tag=loss")
    assert said["headers"]["accept"] == "text/html"
    assert not {"authorization", "cookie", "x-xsrftoken", "referer"} & set(said["headers"])
    assert "JUPYTERHUB_API_TOKEN" not in said["environment"]
    assert "planted" not in answer.headers.get("Set-Cookie", "")


def test_an_answer_is_passed_back_as_it_comes(
    notebook_server: NotebookServer, board: Board
) -> None:
    with notebook_server.page(board, "stream", stream=True) as answer:
        parts = answer.iter_content(None)
        assert next(parts) == b"first"
        notebook_server.page(board, "release")
        assert b"".join(parts) == b"second"


def test_an_address_without_its_slash_leads_to_the_page(
    notebook_server: NotebookServer, board: Board
) -> None:
    url = f"{notebook_server.host}{board['url']}".rstrip("/")

    answer = notebook_server.http.get(url, allow_redirects=False, timeout=30)

    assert (answer.status_code, answer.headers["Location"]) == (302, board["url"])


def browser(notebook_server: NotebookServer) -> requests.Session:
    """Return a browser that has logged in and has nothing but its cookie."""
    browser = requests.Session()
    browser.get(f"{notebook_server.host}/user/ada/tree?token={TOKEN}", timeout=30)
    assert browser.cookies
    return browser


def test_tensorboard_may_post_though_it_knows_no_cross_site_token(
    notebook_server: NotebookServer, board: Board
) -> None:
    url = f"{notebook_server.host}{board['url']}data/plugin/timeseries/timeSeries"

    answer = browser(notebook_server).post(url, data={"requests": "[]"}, timeout=30)

    assert answer.status_code == 299


def test_a_page_of_another_site_may_not(notebook_server: NotebookServer, board: Board) -> None:
    url = f"{notebook_server.host}{board['url']}data"
    headers = {"Origin": "https://elsewhere.example"}

    answer = browser(notebook_server).post(url, headers=headers, timeout=30)

    assert answer.status_code == 403


def test_pages_may_be_framed_by_this_host_only(
    notebook_server: NotebookServer, board: Board
) -> None:
    assert (
        "frame-ancestors 'self'" in notebook_server.page(board).headers["Content-Security-Policy"]
    )
