"""Logging in against real LDAP servers: right, wrong, untrusted, silent and gone."""

import asyncio
import grp
import os
import pwd
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders
from traitlets.config import Config

from portal.hub.apply import apply_settings
from portal.hub.auth.account_status import LoginPermission
from portal.hub.auth.client_address import ConnectionEnds
from portal.hub.auth.credentials import LoginError
from portal.hub.auth.ldap_authenticator import PortalLDAPAuthenticator
from portal.hub.auth.login_throttle import PER_NAME
from portal.hub.settings.loader import load_settings
from tests.hub.private_slapd import (
    BASE,
    PASSWORD,
    READER,
    SLAPD,
    Authority,
    free_port,
    running_slapd,
    silent_server,
)

pytestmark = pytest.mark.skipif(not SLAPD, reason="slapd is not installed")

USERS = ["ada", "grace", "ghost"]
ACCOUNTS = {"ada": 20001, "grace": 20002}
ANSWER_TIMEOUT_S = 5
USUAL_PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0

Authenticators = Callable[..., PortalLDAPAuthenticator]


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("slapd")
    with running_slapd(folder / "good", authority, USERS) as (port, tls_port):
        yield SimpleNamespace(url=f"ldap://127.0.0.1:{port}", tls=f"ldaps://127.0.0.1:{tls_port}")


@pytest.fixture(autouse=True)
def accounts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Let the name service know some users."""
    known = dict(ACCOUNTS)
    monkeypatch.setattr(
        pwd,
        "getpwnam",
        lambda name: SimpleNamespace(pw_name=name, pw_uid=known[name], pw_gid=known[name]),
    )
    monkeypatch.setattr(
        "portal.hub.auth.unix_accounts._is_surely_nobody", lambda name: name not in known
    )
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [gid, 30001, 30002])
    groups = {20001: "ada", 30001: "students"}
    monkeypatch.setattr(grp, "getgrgid", lambda gid: SimpleNamespace(gr_name=groups[gid]))
    return known


@pytest.fixture
def authenticator(tmp_path: Path, authority: Authority) -> Authenticators:
    """Return a function that makes an authenticator as the hub would, from a settings file."""

    def make(*servers: str, login: str = "allow_all = true", **settings: str) -> Any:
        path = tmp_path / "portal.toml"
        path.write_text(
            f"""
            [site]
            support = "help@example.com"
            [hub]
            address = "127.0.0.1"
            state_dir = "{tmp_path}"
            [login]
            servers = {list(servers)!r}
            tls = "{"ldaps" if servers[0].startswith("ldaps") else "starttls"}"
            ca_certificates = "{settings.get("ca", authority.certificate)}"
            user_dn_template = ["uid={{username}},ou=people,{BASE}"]
            answer_timeout_s = {ANSWER_TIMEOUT_S}
            {login}
            [partitions.jupyter]
            """
        )
        config = Config()
        apply_settings(config, load_settings(path))
        return PortalLDAPAuthenticator(config=config)

    return make


class Form:
    """What the authenticator asks of the handler of a login form.

    Its cookies stay with the browser; that they are signed is Tornado's affair.
    """

    hub = SimpleNamespace(base_url="/hub/")
    settings: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self, form: dict[str, str], address: str, cookies: dict[str, bytes] | None
    ) -> None:
        self.cookies = {} if cookies is None else cookies
        self.request = SimpleNamespace(
            body_arguments={key: [value.encode()] for key, value in form.items()},
            headers=HTTPHeaders(),
            connection=SimpleNamespace(
                stream=None,
                context=SimpleNamespace(
                    trusted_downstream=(),
                    portal_ends=ConnectionEnds(
                        peer=(ip_address(address), 50000),
                        own=(ip_address("10.77.0.1"), 8081),
                        is_own=False,
                    ),
                ),
            ),
        )

    def get_secure_cookie(self, name: str, max_age_days: float) -> bytes | None:
        return self.cookies.get(name)

    def set_secure_cookie(self, name: str, value: str, **options: Any) -> None:
        assert options["path"] == "/hub/login"
        self.cookies[name] = value.encode()


async def log_in(
    authenticator: PortalLDAPAuthenticator,
    name: str,
    password: str = PASSWORD,
    address: str = "192.0.2.7",
    cookies: dict[str, bytes] | None = None,
) -> dict[str, Any] | None:
    """Do what the hub's login page does with a form."""
    form = {"username": name, "password": password}
    handler = Form(form, address, cookies)
    # tornado strips the name and turns control characters into spaces before JupyterHub sees it.
    seen = {"username": name.replace("\0", " ").strip(), "password": password}
    return await authenticator.get_authenticated_user(handler, seen)


@asynccontextmanager
async def hub_that_stays_awake() -> AsyncIterator[None]:
    """Fail if the event loop stands still: a busy machine may pause it now and then, LDAP not."""
    pauses: list[float] = []

    async def watch() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            pauses.append(time.monotonic() - before)

    watching = asyncio.create_task(watch())
    yield
    watching.cancel()
    pauses.sort()
    assert pauses[int(len(pauses) * 0.95)] < USUAL_PAUSE_S
    assert pauses[-1] < LONGEST_PAUSE_S


async def refusal(*args: Any) -> tuple[int, str]:
    """Log in, and return the status and the sentence of the error."""
    with pytest.raises(LoginError) as error:
        await log_in(*args)
    return error.value.status_code, error.value.jupyterhub_message


@pytest.mark.parametrize("scheme", ["url", "tls"], ids=["starttls", "ldaps"])
async def test_the_right_password_logs_in(
    authenticator: Authenticators, slapd: Any, scheme: str
) -> None:
    user = await log_in(authenticator(getattr(slapd, scheme)), "ada")

    assert user is not None
    assert (user["name"], user["admin"]) == ("ada", False)
    assert user["groups"] == ["ada", "students"], "a group without a name is left out"


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ada", "wrong"),
        ("ada", ""),
        ("ada", "   "),
        ("ada", PASSWORD + "\0"),
        ("ada", PASSWORD + "\n"),
        ("ada", "x" * 5000),
        ("ada\n", PASSWORD),
        ("ada\0", PASSWORD),
        ("a*", PASSWORD),
        ("ada)(uid=*", PASSWORD),
        ("ada\u0131", PASSWORD),
        ("", PASSWORD),
        ("nobody-here", PASSWORD),
    ],
)
async def test_a_wrong_name_or_password_is_refused(
    authenticator: Authenticators, slapd: Any, name: str, password: str
) -> None:
    assert await log_in(authenticator(slapd.url), name, password) is None


@pytest.mark.parametrize("name", ["ada", "eve"])
async def test_users_of_several_branches_log_in_and_stay_signed_in(
    authenticator: Authenticators,
    slapd: Any,
    accounts: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    accounts["eve"] = 20005
    monkeypatch.setenv("LDAP_READER_PASSWORD", PASSWORD)
    branches = [f"uid={{username}},ou={ou},{BASE}" for ou in ("people", "students")]
    both = authenticator(slapd.url, login=f"allow_all = true\nreader_dn = '{READER}'")
    both.bind_dn_template = branches

    user = await log_in(both, name)

    assert user is not None
    assert (await both.ask_account_status(name)).verdict is LoginPermission.MAY
    assert await log_in(both, name, "wrong") is None


@pytest.mark.parametrize(("name", "words"), [("late", "has expired"), ("locked", "is locked")])
async def test_what_the_directory_says_about_an_account_is_not_called_a_wrong_password(
    authenticator: Authenticators, slapd: Any, name: str, words: str
) -> None:
    status, sentence = await refusal(authenticator(slapd.url), name)

    assert status == 403
    assert words in sentence


async def test_a_settings_file_without_users_lets_nobody_in(
    authenticator: Authenticators, slapd: Any
) -> None:
    status, sentence = await refusal(authenticator(slapd.url, login=""), "ada")

    assert status == 403
    assert "ada is not on the list of users" in sentence
    assert "help@example.com" in sentence


@pytest.mark.parametrize(
    "login",
    ["allowed_users = ['ada']", f"allowed_groups = ['cn=readers,ou=groups,{BASE}']"],
    ids=["by name", "by group"],
)
async def test_only_the_users_and_groups_of_the_settings_are_let_in(
    authenticator: Authenticators, slapd: Any, login: str
) -> None:
    only_ada = authenticator(slapd.url, login=login)

    assert await log_in(only_ada, "ada")
    assert (await refusal(only_ada, "grace"))[0] == 403


async def test_a_full_administrator_is_let_in_and_one_taken_off_the_list_is_none(
    authenticator: Authenticators, slapd: Any
) -> None:
    some = authenticator(slapd.url, login="")
    some.full_admin_users = {"ada"}
    some.allowed_users = {"ada"}

    user = await log_in(some, "ada")
    assert user is not None
    assert user["admin"] is True

    some.full_admin_users = set()
    user = await log_in(some, "ada")
    assert user is not None
    assert user["admin"] is False


async def test_a_user_without_a_unix_account_reads_so_after_the_right_password_only(
    authenticator: Authenticators, slapd: Any
) -> None:
    everybody = authenticator(slapd.url)

    assert await log_in(everybody, "ghost", "wrong") is None
    status, sentence = await refusal(everybody, "ghost")
    assert status == 403
    assert "UNIX account" in sentence


async def test_a_name_service_that_hangs_is_named_while_the_hub_stays_awake(
    authenticator: Authenticators, slapd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = authenticator(slapd.url)
    hanging.answer_timeout_s = 1
    monkeypatch.setattr(pwd, "getpwnam", lambda _: time.sleep(2))

    async with hub_that_stays_awake():
        status, sentence = await refusal(hanging, "ada")

    assert status == 503
    assert "your UNIX account could not be looked up" in sentence


@pytest.mark.parametrize("scheme", ["url", "tls"], ids=["starttls", "ldaps"])
async def test_a_certificate_of_another_authority_is_not_trusted(
    authenticator: Authenticators, slapd: Any, tmp_path: Path, scheme: str
) -> None:
    other = Authority.create(tmp_path / "other")
    url = getattr(slapd, scheme)

    status, sentence = await refusal(authenticator(url, ca=other.certificate), "ada")

    assert status == 503
    assert "certificate is not trusted" in sentence
    assert "your password was not sent" in sentence


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
async def test_a_certificate_for_another_host_is_not_trusted(
    authenticator: Authenticators, authority: Authority, tmp_path: Path, scheme: str
) -> None:
    names = "DNS:ldap.example.com"
    folder = tmp_path / "elsewhere"
    with running_slapd(folder, authority, USERS, alternative_names=names) as (port, tls_port):
        number = port if scheme == "ldap" else tls_port
        status, sentence = await refusal(authenticator(f"{scheme}://127.0.0.1:{number}"), "ada")

    assert status == 503
    assert "certificate is not trusted" in sentence


async def test_a_server_that_is_gone_is_named_at_once(authenticator: Authenticators) -> None:
    before = time.monotonic()

    status, sentence = await refusal(authenticator(f"ldap://127.0.0.1:{free_port()}"), "ada")

    assert status == 503
    assert "did not answer" in sentence
    assert "help@example.com" in sentence
    assert time.monotonic() - before < 1


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
async def test_a_silent_server_is_named_within_five_seconds_while_the_hub_stays_awake(
    authenticator: Authenticators, scheme: str
) -> None:
    with silent_server() as port:
        silent = authenticator(f"{scheme}://127.0.0.1:{port}")
        before = time.monotonic()
        async with hub_that_stays_awake():
            answers = await asyncio.gather(*(refusal(silent, f"user{n}") for n in range(40)))
        took_s = time.monotonic() - before

    assert {status for status, _ in answers} == {503}
    assert "did not answer" in answers[0][1]
    assert took_s < ANSWER_TIMEOUT_S + LONGEST_PAUSE_S


async def test_the_second_server_is_asked_where_the_first_is_gone(
    authenticator: Authenticators, slapd: Any
) -> None:
    assert await log_in(authenticator(f"ldap://127.0.0.1:{free_port()}", slapd.url), "ada")


async def test_a_silent_first_server_slows_only_the_first_login(
    authenticator: Authenticators, slapd: Any
) -> None:
    with silent_server() as port:
        two = authenticator(f"ldap://127.0.0.1:{port}", slapd.url)
        async with hub_that_stays_awake():
            assert await log_in(two, "ada")
            before = time.monotonic()
            assert await log_in(two, "grace")

    assert time.monotonic() - before < 1


async def test_a_wrong_password_is_not_tried_on_the_second_server(
    authenticator: Authenticators, slapd: Any
) -> None:
    with silent_server() as port:
        two = authenticator(slapd.url, f"ldap://127.0.0.1:{port}")
        before = time.monotonic()

        assert await log_in(two, "ada", "wrong") is None

    assert time.monotonic() - before < 1


async def test_a_wrong_password_after_many_others_says_that_the_next_answer_takes_longer(
    authenticator: Authenticators, slapd: Any
) -> None:
    everybody = authenticator(slapd.url)
    for n in range(4):
        assert await log_in(everybody, "ada", f"guess {n}") is None

    status, sentence = await refusal(everybody, "ada", "guess 4")

    assert status == 403
    assert "takes 1 second or more" in sentence
    assert "help@example.com" in sentence
    assert await log_in(everybody, "grace"), "others at the same desk are let in"


async def test_a_browser_that_has_logged_in_before_waits_for_no_guesser(
    authenticator: Authenticators, slapd: Any
) -> None:
    everybody = authenticator(slapd.url)
    own: dict[str, bytes] = {}
    assert await log_in(everybody, "ada", cookies=own)
    assert list(own) == ["portal-browser-ada"]
    guesses = [
        asyncio.create_task(log_in(everybody, "ada", f"guess {n}", cookies={})) for n in range(40)
    ]
    answers = await asyncio.gather(*guesses[:5], return_exceptions=True)
    assert len(answers) == 5

    assert await log_in(everybody, "ada", cookies=own)

    assert not all(guess.done() for guess in guesses), "the guesser still waits"
    for guess in guesses:
        guess.cancel()
    ended = await asyncio.gather(*guesses, return_exceptions=True)
    too_many = [one for one in ended if isinstance(one, LoginError) and one.status_code == 429]
    assert len(too_many) == 40 - 5 - PER_NAME.most_waiting
    assert "was not checked" in too_many[0].jupyterhub_message


async def test_servers_that_do_not_answer_count_as_no_wrong_password(
    authenticator: Authenticators,
) -> None:
    gone = authenticator(f"ldap://127.0.0.1:{free_port()}")

    answers = [await refusal(gone, "ada") for _ in range(8)]

    assert {status for status, _ in answers} == {503}
