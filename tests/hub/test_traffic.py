"""One user who hammers the hub, and what others and the site's own programs notice of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from portal.hub.admin.tokens import OPERATOR, read_token
from tests.hub.private_hub import LDAP_LOGIN, Browser, PrivateHub, running_hub_with
from tests.hub.private_slapd import BASE, Authority, running_slapd

# So slow that no test waits long enough to be let in again.
TRAFFIC = """
[traffic]
user_requests_per_s = 0.1
user_burst = 30
user_at_once = 10
"""
N_REQUESTS = 60
USERS = ["ada", "grace", "linus", "mary"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[PrivateHub]:
    """Yield a hub; each test has users of its own, since what they asked counts on."""
    folder: Path = tmp_path_factory.mktemp("traffic")
    with running_slapd(folder / "slapd", authority, USERS) as (port, _):
        servers = json.dumps([f"ldap://127.0.0.1:{port}"])
        login = LDAP_LOGIN.format(servers=servers, ca=authority.certificate, base=BASE)
        with running_hub_with(folder / "hub", login + TRAFFIC) as hub:
            yield hub


def logged_in(hub: PrivateHub, name: str) -> Browser:
    browser = Browser(hub)
    browser.log_in(name).raise_for_status()
    return browser


def answer_to(hub: PrivateHub, token: str, path: str = "/hub/api/user") -> requests.Response:
    headers = {"Authorization": f"token {token}"}
    return requests.get(f"{hub.direct_url}{path}", headers=headers, timeout=30)


def token_of(browser: Browser, name: str) -> str:
    answer = browser.http.post(
        f"{browser.hub.url}/hub/api/users/{name}/tokens",
        json={"expires_in": 3600},
        headers={"X-XSRFToken": browser.xsrf()},
        timeout=30,
    )
    return str(answer.json()["token"])


def test_who_hammers_is_refused_by_every_way_and_nobody_else_is(hub: PrivateHub) -> None:
    ada, grace = logged_in(hub, "ada"), logged_in(hub, "grace")
    token = token_of(ada, "ada")
    grace.get("/hub/home").raise_for_status()

    answers = [ada.get("/hub/home") for _ in range(N_REQUESTS)]

    assert {answer.status_code for answer in answers} == {200, 429}
    refused = answers[-1]
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 11
    assert "You sent more requests than the portal serves for one user" in refused.text
    assert "Try again in " in refused.text
    # The same user with a token, in another browser's words, and straight at the hub.
    by_rest = answer_to(hub, token)
    assert by_rest.status_code == 429
    assert "Try again in " in by_rest.json()["message"]
    for _ in range(5):
        assert grace.get("/hub/home").status_code == 200
    assert requests.get(f"{hub.url}/hub/login", timeout=30).ok
    assert requests.get(f"{hub.url}/hub/health", cookies=ada.http.cookies, timeout=30).ok
    # The administrator reads who it is, and not for each request again.
    lines = [line for line in hub.log_path.read_text().splitlines() if "429 to the user" in line]
    assert len(lines) in {1, 2}
    assert "429 to the user ada: too many requests" in lines[0]


def test_the_sites_own_programs_are_never_refused(hub: PrivateHub) -> None:
    token = read_token(hub.log_path.parent, OPERATOR)

    statuses = {answer_to(hub, token, "/hub/metrics").status_code for _ in range(N_REQUESTS)}

    assert statuses == {200}


def test_a_made_up_token_or_cookie_counts_for_nobody_else(hub: PrivateHub) -> None:
    linus = logged_in(hub, "linus")
    cookie = linus.http.cookies["jupyterhub-hub-login"]
    forged = {"jupyterhub-hub-login": cookie[:-8] + "00000000"}

    for n in range(N_REQUESTS):
        assert answer_to(hub, f"{n:032x}").status_code == 403
        requests.get(f"{hub.direct_url}/hub/home", cookies=forged, timeout=30).raise_for_status()

    assert linus.get("/hub/home").status_code == 200
