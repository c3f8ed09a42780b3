"""Sessions shared with colleagues on the home page of a real hub, without JavaScript."""

from collections.abc import Iterator

import pytest
import requests

from tests.hub.private_hub import Browser, PrivateHub
from tests.hub.test_overview import send, words
from tests.support.eventually import eventually

SHARE, UNSHARE = "/hub/portal/share/ada", "/hub/portal/unshare/ada"


@pytest.fixture
def linus(hub: PrivateHub) -> Browser:
    browser = Browser(hub)
    browser.log_in("linus")
    return browser


@pytest.fixture
def ada(hub: PrivateHub, linus: Browser) -> Iterator[Browser]:
    """Somebody whose session runs."""
    browser = Browser(hub)
    browser.log_in("ada")
    browser.choose("ada", gpus="1")
    hub.set_cluster(step=99)
    eventually(lambda: "Running" in words(browser.get("/hub/home")), timeout_s=30)
    yield browser
    stop(browser)


def stop(browser: Browser) -> None:
    browser.stop("ada")
    eventually(lambda: "Not running" in words(browser.get("/hub/home")), timeout_s=30)


def home(browser: Browser) -> str:
    return words(browser.get("/hub/home"))


def access(browser: Browser) -> requests.Response:
    """Ask the hub for a session of ada as her colleague's browser is sent to do it."""
    return browser.get(
        "/hub/api/oauth2/authorize?client_id=jupyterhub-user-ada&response_type=code"
        "&redirect_uri=%2Fuser%2Fada%2Foauth_callback&code_challenge_method=S256"
        f"&code_challenge={'x' * 43}",
        allow_redirects=False,
    )


def test_a_colleague_is_let_in_until_the_owner_ends_it(ada: Browser, linus: Browser) -> None:
    assert "The session of ada" not in home(linus)
    assert access(linus).status_code == 403

    shared = words(send(ada, SHARE, name="linus", may="work"))

    assert "Shared with linus" in shared
    assert "they can read, change and delete all your files" in shared
    assert "The session of ada" in home(linus)
    assert access(linus).status_code in {200, 302}
    ended = words(send(ada, UNSHARE, kind="user", name="linus"))
    assert "Share this session" in ended
    assert "The session of ada" not in home(linus)
    assert access(linus).status_code == 403


def test_shares_end_with_the_session(ada: Browser, linus: Browser, hub: PrivateHub) -> None:
    send(ada, SHARE, name="linus", may="work")
    stop(ada)
    ada.choose("ada", gpus="1")
    hub.set_cluster(step=99)
    eventually(lambda: "Running" in home(ada), timeout_s=30)

    assert "Share this session" in home(ada)
    assert "The session of ada" not in home(linus)
    assert access(linus).status_code == 403


def test_a_share_with_nobody_says_what_to_do(ada: Browser) -> None:
    unknown = send(ada, SHARE, name="nobody", may="work")
    assert unknown.status_code == 400
    assert "Nobody named 'nobody' has used this portal." in words(unknown)
    assert "This session is your own." in words(send(ada, SHARE, name="ada", may="work"))
    assert "You are not in a group" in words(
        send(ada, SHARE, kind="group", name="wheel", may="work")
    )


def test_only_the_owner_shares_a_session(ada: Browser, linus: Browser, hub: PrivateHub) -> None:
    full_administrator = Browser(hub)
    full_administrator.log_in("margaret")

    for somebody in (linus, full_administrator):
        assert send(somebody, SHARE, name="linus", may="work").status_code in {403, 404}
    # A guest cannot let others in, or end it for them.
    send(ada, SHARE, name="linus", may="work")
    assert send(linus, SHARE, name="margaret", may="work").status_code in {403, 404}
    assert send(linus, UNSHARE, kind="user", name="linus").status_code in {403, 404}
    assert access(linus).status_code in {200, 302}


def test_a_session_that_does_not_run_cannot_be_shared(linus: Browser) -> None:
    refused = send(linus, "/hub/portal/share/linus", name="ada", may="work")
    assert refused.status_code == 400
    assert "Only a running session can be shared." in words(refused)


def test_a_notebook_is_shared_to_read_from_the_page_that_jupyterlab_opens(
    ada: Browser, linus: Browser
) -> None:
    page = words(ada.get("/hub/portal/sharing/ada?document=work/results.ipynb"))
    assert "Share work/results.ipynb" in page
    assert "Nobody but you has access." in page
    assert (
        "You cannot share a single notebook for writing, because its cells would run as you."
        in page
    )

    grant = {"kind": "user", "name": "linus", "document": "work/results.ipynb"}
    shown = {"page": "sharing", "shown": "work/results.ipynb"}
    shared = send(ada, SHARE, may="document", **grant, **shown)

    assert shared.url.endswith("/hub/portal/sharing/ada?document=work%2Fresults.ipynb")
    assert "linus reads work/results.ipynb." in words(shared)
    assert "The session of ada, to read" in home(linus)
    assert access(linus).status_code in {200, 302}
    # A second permission has an end of its own.
    both = words(send(ada, SHARE, kind="user", name="linus", may="read"))
    assert "linus reads the notebooks that you open." in both
    one = words(send(ada, UNSHARE, kind="user", name="linus", may="read"))
    assert "linus reads work/results.ipynb." in one
    assert access(linus).status_code in {200, 302}
    ended = send(ada, UNSHARE, may="read", **grant, **shown)
    assert "Nobody but you has access." in words(ended)
    assert access(linus).status_code == 403


def test_nobody_else_sees_who_has_access(ada: Browser, linus: Browser) -> None:
    send(ada, SHARE, name="linus", may="work")
    assert linus.get("/hub/portal/sharing/ada").status_code in {403, 404}
