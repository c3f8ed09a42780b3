"""Somebody leaves: real LDAP, then the cookie, the token and the sessions that are still there."""

import grp
import os
import pwd
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ldap3
import pytest
import requests
from traitlets.config import Config

from portal.hub.apply import apply_settings
from portal.hub.auth.credentials import LoginError
from portal.hub.auth.ldap_authenticator import READER_PASSWORD, PortalLDAPAuthenticator
from portal.hub.auth.ldap_servers import bind, close, parse_server
from portal.hub.settings.loader import load_settings
from tests.hub.private_hub import Browser, PrivateHub, find_proxy, running_hub_with
from tests.hub.private_slapd import (
    BASE,
    PASSWORD,
    READER,
    ROOT,
    SLAPD,
    Authority,
    free_port,
    running_slapd,
)
from tests.hub.test_ldap_login import log_in
from tests.support.eventually import eventually

pytestmark = pytest.mark.skipif(not SLAPD, reason="slapd is not installed")

ADA = f"uid=ada,ou=people,{BASE}"
READERS = f"cn=readers,ou=groups,{BASE}"


@dataclass(frozen=True)
class Directory:
    """A running slapd, and its administrator."""

    url: str
    authority: Authority

    @contextmanager
    def as_root(self) -> Iterator[ldap3.Connection]:
        """Yield a connection that may change everything."""
        connection = bind(
            parse_server(self.url),
            ROOT,
            PASSWORD,
            ca_file=str(self.authority.certificate),
            connect_timeout_s=5,
            answer_timeout_s=5,
        )
        assert connection is not None
        yield connection
        assert connection.result["description"] == "success", connection.result
        close(connection)

    def delete_ada(self) -> None:
        with self.as_root() as root:
            root.delete(ADA)

    def take_adas_password(self) -> None:
        with self.as_root() as root:
            root.modify(ADA, {"userPassword": [(ldap3.MODIFY_REPLACE, [])]})

    def take_ada_out_of_the_group(self) -> None:
        with self.as_root() as root:
            root.modify(READERS, {"memberUid": [(ldap3.MODIFY_REPLACE, [])]})


@pytest.fixture
def directory(tmp_path: Path, authority: Authority) -> Iterator[Directory]:
    with running_slapd(tmp_path / "slapd", authority, ["ada", "grace"]) as (port, _):
        yield Directory(f"ldap://127.0.0.1:{port}", authority)


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Let the name service know ada, until she is taken out."""
    known = {"ada": 20001}
    monkeypatch.setattr(
        pwd,
        "getpwnam",
        lambda name: SimpleNamespace(pw_name=name, pw_uid=known[name], pw_gid=known[name]),
    )
    monkeypatch.setattr(
        "portal.hub.auth.unix_accounts._is_surely_nobody", lambda name: name not in known
    )
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [gid])
    monkeypatch.setattr(grp, "getgrgid", lambda gid: SimpleNamespace(gr_name="students"))
    monkeypatch.setenv(READER_PASSWORD, PASSWORD)
    return known


def authenticator_of(folder: Path, directory: Directory, login: str) -> PortalLDAPAuthenticator:
    """Return an authenticator as the hub would make it."""
    path = folder / "portal.toml"
    path.write_text(
        f"""
        [hub]
        address = "127.0.0.1"
        state_dir = "{folder}"
        [login]
        servers = ["{directory.url}"]
        ca_certificates = "{directory.authority.certificate}"
        user_dn_template = ["uid={{username}},ou=people,{BASE}"]
        answer_timeout_s = 60
        {login}
        [partitions.jupyter]
        """
    )
    config = Config()
    apply_settings(config, load_settings(path))
    return PortalLDAPAuthenticator(config=config)


READ = f"reader_dn = '{READER}'\naccount_filter = '(userPassword=*)'\n"
GROUP = f"{READ}allowed_groups = ['{READERS}']"


async def refreshed(authenticator: PortalLDAPAuthenticator) -> Any:
    """Return what JupyterHub is told of ada, asked anew."""
    authenticator.standings.forget("ada")
    return await authenticator.refresh_user(SimpleNamespace(name="ada"), None)


@pytest.mark.parametrize(
    ("leave", "login"),
    [
        (Directory.delete_ada, f"{READ}allow_all = true"),
        (Directory.take_adas_password, f"{READ}allow_all = true"),
        (Directory.take_ada_out_of_the_group, GROUP),
    ],
    ids=["account gone", "password gone", "out of the group"],
)
async def test_who_left_is_signed_out(
    tmp_path: Path,
    directory: Directory,
    accounts: dict[str, int],
    leave: Callable[[Directory], None],
    login: str,
) -> None:
    hub = authenticator_of(tmp_path, directory, login)
    assert await refreshed(hub) == {"name": "ada", "groups": ["students"]}

    leave(directory)

    assert await refreshed(hub) is False


async def test_who_has_no_unix_account_any_more_is_signed_out_without_a_reader_too(
    tmp_path: Path, directory: Directory, accounts: dict[str, int]
) -> None:
    hub = authenticator_of(tmp_path, directory, "allow_all = true")
    assert await refreshed(hub)

    accounts.clear()

    assert await refreshed(hub) is False


async def test_who_is_taken_off_the_list_is_signed_out(
    tmp_path: Path, directory: Directory, accounts: dict[str, int]
) -> None:
    hub = authenticator_of(tmp_path, directory, "allowed_users = ['ada']")
    assert await refreshed(hub)

    hub.allowed_users = set()

    assert await refreshed(hub) is False


async def test_nobody_is_signed_out_by_a_server_that_does_not_answer(
    tmp_path: Path, directory: Directory, accounts: dict[str, int]
) -> None:
    away = Directory(f"ldap://127.0.0.1:{free_port()}", directory.authority)
    hub = authenticator_of(tmp_path, away, GROUP)

    assert await refreshed(hub) is True


async def test_nobody_is_signed_out_by_a_reader_that_cannot_log_in(
    tmp_path: Path,
    directory: Directory,
    accounts: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(READER_PASSWORD, "wrong")

    assert await refreshed(authenticator_of(tmp_path, directory, GROUP)) is True


async def test_a_closed_account_is_refused_with_the_right_password_too(
    tmp_path: Path, directory: Directory, accounts: dict[str, int]
) -> None:
    closed = READ.replace("(userPassword=*)", "(description=open)") + "allow_all = true"

    with pytest.raises(LoginError) as refused:
        await log_in(authenticator_of(tmp_path, directory, closed), "ada")

    assert refused.value.status_code == 403
    assert "Your password is right" in refused.value.jupyterhub_message


@pytest.fixture
def login(directory: Directory) -> str:
    """Return the keys of a hub that looks at accounts every six seconds."""
    if not find_proxy().exists():
        pytest.skip(f"{find_proxy()} is needed")
    return f"""
servers = ["{directory.url}"]
ca_certificates = "{directory.authority.certificate}"
user_dn_template = ["uid={{username}},ou=people,{BASE}"]
answer_timeout_s = 60
allow_all = true
recheck_minutes = 0.1
{READ}
"""


@pytest.fixture
def hub(tmp_path: Path, login: str) -> Iterator[PrivateHub]:
    with running_hub_with(tmp_path / "hub", login, **{READER_PASSWORD: PASSWORD}) as hub:
        yield hub


def operate(hub: PrivateHub, method: str, path: str, **body: str) -> requests.Response:
    """Ask the hub as `dsportal` does."""
    token = (hub.log_path.parent / "operator-token").read_text().strip()
    return requests.request(
        method,
        f"{hub.url}/hub/api/dsportal/{path}",
        json=body,
        headers={"Authorization": f"token {token}"},
        timeout=60,
    )


def test_cookies_tokens_and_sessions_of_who_left(hub: PrivateHub, directory: Directory) -> None:
    ada = Browser(hub)
    assert ada.log_in("ada").url.endswith("/hub/home")
    made = ada.http.post(
        f"{hub.url}/hub/api/users/ada/tokens", headers={"X-XSRFToken": ada.xsrf()}, timeout=30
    )
    token = {"Authorization": f"token {made.json()['token']}"}
    assert made.json()["expires_at"], "a token without an end gets one"
    forever = ada.http.post(
        f"{hub.url}/hub/api/users/ada/tokens",
        headers={"X-XSRFToken": ada.xsrf()},
        json={"expires_in": 91 * 24 * 3600},
        timeout=30,
    )
    assert forever.status_code == 400
    ada.choose("ada", gpus="1")
    eventually(lambda: "Stop My Server" in ada.get("/hub/home").text, timeout_s=20)
    allowed = operate(hub, "DELETE", "users/ada")
    assert allowed.status_code == 409
    assert "--even-if-allowed" in allowed.json()["message"]

    directory.take_adas_password()

    eventually(lambda: "/hub/login" in ada.get("/hub/home").url, timeout_s=60)
    user_url = f"{hub.url}/hub/api/users/ada"
    assert requests.get(user_url, headers=token, timeout=30).status_code == 403
    assert requests.post(f"{user_url}/server", headers=token, timeout=30).status_code == 403
    users = {one["user"]: one for one in operate(hub, "GET", "users").json()["users"]}
    assert users["ada"]["account"] == "may not log in"
    assert (users["ada"]["sessions"], users["grace"]["administrator"]) == (
        1,
        "dsportal-administrator",
    )

    removed = operate(hub, "DELETE", "users/ada")

    assert removed.status_code == 200
    assert removed.json()["sessions"] == 1
    left = [one["user"] for one in operate(hub, "GET", "users").json()["users"]]
    assert "ada" not in left
    assert operate(hub, "DELETE", "users/ada").status_code == 404
    assert requests.get(user_url, headers=token, timeout=30).status_code == 403
    assert "Removed ada" in hub.log_path.read_text()


def test_somebody_who_may_log_in_is_removed_where_that_is_meant(hub: PrivateHub) -> None:
    ada = Browser(hub)
    ada.log_in("ada")

    assert operate(hub, "DELETE", "users/ada", force="yes").status_code == 200

    assert "/hub/login" in ada.get("/hub/home").url


def test_a_blocked_user_is_kept_out_until_that_ends(tmp_path: Path, login: str) -> None:
    folder, secret = tmp_path / "hub", {READER_PASSWORD: PASSWORD}
    with running_hub_with(folder, login, **secret) as hub:
        before = Browser(hub)
        assert before.log_in("ada").url.endswith("/hub/home")
        made = before.http.post(
            f"{hub.url}/hub/api/users/ada/tokens",
            headers={"X-XSRFToken": before.xsrf()},
            timeout=30,
        )
        token = {"Authorization": f"token {made.json()['token']}"}

    with running_hub_with(folder, f'{login}blocked_users = ["ada"]\n', **secret) as hub:
        before.hub = hub
        assert "/hub/login" in before.get("/hub/home").url
        refused = Browser(hub).log_in("ada")
        assert refused.status_code == 403
        assert "have closed this portal to ada" in refused.text
        start = f"{hub.url}/hub/api/users/ada/server"
        assert requests.post(start, headers=token, timeout=30).status_code == 403
        assert Browser(hub).log_in("grace").url.endswith("/hub/home")
        users = {one["user"]: one for one in operate(hub, "GET", "users").json()["users"]}
        assert users["ada"]["reason"] == "ada is in blocked_users of [login]."

    with running_hub_with(folder, login, **secret) as hub:
        again = Browser(hub)
        assert again.log_in("ada").url.endswith("/hub/home")
        again.choose("ada", gpus="1")
        eventually(lambda: "Stop My Server" in again.get("/hub/home").text, timeout_s=20)
