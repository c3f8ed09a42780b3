"""Logging in through PAM and through an OpenID provider, each by one setting."""

import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.hub.private_hub import Browser, PrivateHub, find_proxy, running_hub_with
from tests.hub.private_openid import CLIENT_ID, CLIENT_SECRET, Provider, running_provider
from tests.support.put_back import put_back

PAM_SERVICE = Path("/etc/pam.d/dsportal-test")
PAM_USER = "dsportal-pam"
PAM_PASSWORD = secrets.token_hex(8)
PAM_LOGIN = f"""\
authenticator = "pam"
allow_all = true
options = {{ service = "{PAM_SERVICE.name}" }}
"""
OPENID_LOGIN = """\
authenticator = "generic-oauth"
allow_all = true

[login.options]
client_id = "{client_id}"
authorize_url = "{url}/authorize"
token_url = "{url}/token"
userdata_url = "{url}/userinfo"
username_claim = "preferred_username"
login_service = "the university"
"""

pytestmark = pytest.mark.skipif(not find_proxy().exists(), reason=f"{find_proxy()} is needed")


@pytest.fixture(scope="module")
def pam_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateHub]:
    if os.geteuid() != 0:
        pytest.skip("only root can make an account and a service of PAM")
    with put_back(("rm", "--force", PAM_SERVICE), ("userdel", PAM_USER)):
        subprocess.run(["useradd", "--no-create-home", PAM_USER], check=True)
        subprocess.run(["chpasswd"], input=f"{PAM_USER}:{PAM_PASSWORD}", text=True, check=True)
        PAM_SERVICE.write_text("auth required pam_unix.so nodelay\naccount required pam_unix.so\n")
        with running_hub_with(tmp_path_factory.mktemp("pam") / "hub", PAM_LOGIN) as hub:
            yield hub


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def openid_hub(
    tmp_path_factory: pytest.TempPathFactory, provider: Provider
) -> Iterator[PrivateHub]:
    folder = tmp_path_factory.mktemp("openid")
    login = OPENID_LOGIN.format(client_id=CLIENT_ID, url=provider.url)
    with running_hub_with(folder / "hub", login, OAUTH_CLIENT_SECRET=CLIENT_SECRET) as hub:
        yield hub


def log_in(hub: PrivateHub, name: str, password: str) -> requests.Response:
    browser = Browser(hub)
    browser.get("/hub/login")
    form = {"username": name, "password": password, "_xsrf": browser.xsrf()}
    return browser.http.post(f"{hub.url}/hub/login", data=form, timeout=30)


def test_the_password_of_pam_logs_in_and_another_one_does_not(pam_hub: PrivateHub) -> None:
    assert log_in(pam_hub, PAM_USER, PAM_PASSWORD).url.endswith("/hub/home")

    refused = log_in(pam_hub, PAM_USER, "wrong")
    assert refused.status_code == 403


def test_guessing_passwords_of_pam_is_slowed_down(pam_hub: PrivateHub) -> None:
    pages = [log_in(pam_hub, "nobody-here", f"guess {n}") for n in range(5)]

    assert pages[-1].status_code == 403
    assert "the next answer takes 1 second or more" in pages[-1].text


def test_the_login_page_leads_to_the_provider_and_back_to_the_portal(
    openid_hub: PrivateHub, provider: Provider
) -> None:
    provider.user = {"preferred_username": "Ada"}
    browser = Browser(openid_hub)

    page = browser.get("/hub/login")
    assert "Sign in with the university" in page.text
    assert 'name="password"' not in page.text

    home = browser.get("/hub/oauth_login")
    assert home.url.endswith("/hub/home")
    assert "ada" in home.text


def test_whom_the_provider_knows_and_this_host_does_not_reads_so(
    openid_hub: PrivateHub, provider: Provider
) -> None:
    provider.user = {"preferred_username": "ghost"}

    page = Browser(openid_hub).get("/hub/oauth_login")

    assert page.status_code == 403
    assert "UNIX account" in page.text
