"""What users read on error pages and in REST errors: the portal's sentences, not JupyterHub's."""

import pytest
import requests

from tests.hub.private_hub import Browser, PrivateHub
from tests.support.eventually import eventually

# What JupyterHub says of its own where the portal has a sentence.
JARGON = (
    "pending spawn",
    "requires any of",
    "No access to resources",
    "No such user",
    "server_name",
)


@pytest.fixture(scope="module")
def logged_in(private_hub: PrivateHub) -> Browser:
    browser = Browser(private_hub)
    assert browser.log_in("ada").url.endswith("/hub/home")
    return browser


@pytest.fixture
def ada(logged_in: Browser, hub: PrivateHub) -> Browser:
    return logged_in


def text_of(answer: requests.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert not [words for words in JARGON if words in answer.text], answer.text
    return answer.text


def test_a_second_start_is_refused_with_where_the_first_one_is(ada: Browser) -> None:
    ada.hub.set_cluster(step=0)
    assert ada.choose("ada", gpus="1").ok
    try:
        page = text_of(ada.choose("ada", gpus="2"), 400)
        assert "The session is already starting" in page
        assert '<a href="/hub/spawn-pending/ada">' in page
    finally:
        ada.hub.set_cluster(step=99)
        eventually(
            lambda: ada.get("/hub/spawn-pending/ada").url.endswith("/user/ada/"), timeout_s=60
        )
        page = text_of(ada.choose("ada", gpus="2"), 400)
        assert "already running" in page
        assert 'href="/user/ada/">Open it' in page
        assert ada.stop("ada").status_code in {202, 204}
        eventually(lambda: ada.stop("ada").status_code in {204, 404}, timeout_s=60)


def test_a_save_after_the_end_of_the_session_is_refused_with_what_to_do(ada: Browser) -> None:
    # JupyterLab asks for the file's time before it writes.
    answer = ada.get("/user/ada/api/contents/a.ipynb?content=0")

    assert "no longer running" not in text_of(answer, 424)
    assert answer.json()["message"].startswith("The session is not running. Start it")


def test_a_page_for_administrators_says_that_it_is_for_them(ada: Browser) -> None:
    page = text_of(ada.get("/hub/admin"), 403)

    assert "do not have the permission" in page
    assert "admin-ui" not in page


@pytest.mark.parametrize(
    "path",
    ["/hub/spawn/nobody", "/hub/spawn-pending/nobody", "/hub/user/nobody/lab", "/user/grace/"],
)
def test_what_belongs_to_somebody_else_is_not_there_to_be_opened(ada: Browser, path: str) -> None:
    page = text_of(ada.get(path), 404)

    assert "do not have access" in page or "no session" in page


def test_a_page_that_was_open_for_too_long_says_that_it_must_be_reloaded(ada: Browser) -> None:
    answer = ada.http.post(f"{ada.hub.url}/hub/spawn/ada", data={"gpus": "1"}, timeout=10)
    page = text_of(answer, 403)

    assert "Reload" in page
    assert "_xsrf" not in page


def test_a_program_learns_the_scopes_that_its_token_lacks(ada: Browser) -> None:
    answer = ada.get("/hub/api/proxy", headers={"X-XSRFToken": ada.xsrf()})
    message = answer.json()["message"]

    text_of(answer, 403)
    assert "do not have the permission" in message
    assert "proxy" in message


def test_a_session_that_the_proxy_cannot_reach_is_called_a_session(ada: Browser) -> None:
    page = ada.get("/hub/error/503?url=/user/ada/lab").text

    assert "The session is not responding" in page
    assert "server appears" not in page
