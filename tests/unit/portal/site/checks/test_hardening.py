"""What is made of a site's outside: each lack has a sentence and a cure."""

import http.server
import json
import ssl
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import Settings
from portal.site.checks import hardening_checks
from portal.site.checks.finding import Finding, Grade
from portal.site.checks.hardening import (
    LoginPage,
    assess_leaving,
    assess_listeners,
    assess_login_page,
    assess_modes,
    assess_seen_address,
)
from tests.hub.private_slapd import Authority

URL = "https://portal.example.com"
GOOD = LoginPage(
    cookies=(
        "_xsrf=a; Path=/hub/; SameSite=Lax; Secure",
        "jupyterhub-session-id=b; HttpOnly; Path=/; SameSite=Lax; Secure",
    ),
    hsts="max-age=31536000; includeSubDomains",
)
HUB = HubSettings(address="10.77.0.1")


def words(findings: list[Finding]) -> str:
    return " ".join(f"{one.grade.value} {one.sentence} {one.cure}" for one in findings)


def test_a_login_page_behind_a_good_front_end_is_in_order() -> None:
    (finding,) = assess_login_page(GOOD, URL)

    assert finding.grade is Grade.OK


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (
            LoginPage(cookies=("a=b; HttpOnly; SameSite=Lax",), hsts=GOOD.hsts),
            "sets a without Secure",
        ),
        (
            LoginPage(cookies=("a=b; HttpOnly; Secure",), hsts=GOOD.hsts),
            "sets a without SameSite",
        ),
        (
            LoginPage(cookies=("a=b; SameSite=Lax; Secure",), hsts=GOOD.hsts),
            "sets a without HttpOnly",
        ),
        (LoginPage(cookies=GOOD.cookies, hsts=""), "no Strict-Transport-Security"),
        (LoginPage(cookies=GOOD.cookies, hsts="max-age=300"), "no Strict-Transport-Security"),
    ],
)
def test_each_lack_of_a_login_page_is_told_with_a_cure(page: LoginPage, said: str) -> None:
    (finding,) = assess_login_page(page, URL)

    assert finding.grade is Grade.WARNING
    assert said in finding.sentence
    assert finding.cure


@pytest.mark.parametrize(
    ("seen", "seen_forged", "own", "grade", "said"),
    [
        ("192.0.2.5", "192.0.2.5", "192.0.2.5", Grade.OK, "192.0.2.5"),
        ("127.0.0.1", "127.0.0.1", "192.0.2.5", Grade.WARNING, "seems to come from 127.0.0.1"),
        ("192.0.2.5", "203.0.113.77", "192.0.2.5", Grade.WARNING, "can choose the address"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1", Grade.SKIPPED, "its own host"),
    ],
)
def test_the_address_that_the_hub_sees_is_compared(
    seen: str, seen_forged: str, own: str, grade: Grade, said: str
) -> None:
    finding = assess_seen_address(seen, seen_forged, own=own, forged="203.0.113.77")

    assert finding.grade is grade
    assert said in finding.sentence


def test_a_file_that_others_read_is_a_problem_with_its_command() -> None:
    modes = {Path("/x/hub.log"): stat.S_IFREG | 0o644, Path("/x/hub"): stat.S_IFDIR | 0o700}

    (finding,) = assess_modes(modes)

    assert finding.grade is Grade.PROBLEM
    assert finding.sentence == "/x/hub.log is open to others (-rw-r--r--)."
    assert finding.cure == "chmod go= /x/hub.log"
    assert assess_modes({Path("/x"): 0o700})[0].grade is Grade.OK


@pytest.mark.parametrize(
    ("address", "port", "grade", "said"),
    [
        ("0.0.0.0", 8001, Grade.PROBLEM, "accepts commands on port 8001"),
        ("10.0.0.5", 8001, Grade.PROBLEM, "accepts commands on port 8001"),
        ("::", 8081, Grade.WARNING, "the hub's own port 8081"),
        ("0.0.0.0", 6819, Grade.WARNING, "slurmdbd (port 6819)"),
        ("10.77.0.1", 6819, Grade.OK, "where they are needed"),
        ("0.0.0.0", 8000, Grade.OK, "where they are needed"),
    ],
)
def test_what_more_networks_reach_than_need_it_is_told(
    address: str, port: int, grade: Grade, said: str
) -> None:
    listening: Any = SimpleNamespace(address=ip_address(address), port=port)

    (finding,) = assess_listeners([listening], HUB)

    assert finding.grade is grade
    assert said in finding.sentence


def test_a_directory_that_is_asked_only_once_is_told(settings: Settings) -> None:
    reader = replace(settings.login, reader_dn="cn=reader,dc=portal,dc=example")

    assert assess_leaving(settings.login).grade is Grade.WARNING
    assert assess_leaving(reader).grade is Grade.OK


class FrontEnd(http.server.BaseHTTPRequestHandler):
    """A front end without HSTS, before a hub with a cookie for every connection."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Set-Cookie", "jupyterhub-session-id=b; HttpOnly; Path=/; SameSite=Lax")
        self.end_headers()
        if self.path.endswith("/status"):
            assert self.headers["Authorization"] == "token 0123"
            self.wfile.write(json.dumps({"asked_from": self.client_address[0]}).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def front_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of a server whose certificate is trusted here."""
    authority = Authority.create(tmp_path / "authority")
    certificate, key = authority.issue("front", "DNS:localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    with http.server.HTTPServer(("127.0.0.1", 0), FrontEnd) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://localhost:{server.server_port}"
        server.shutdown()


def test_the_front_end_is_asked_over_tls(front_end: str, tmp_path: Path) -> None:
    (tmp_path / "operator-token").write_text("0123\n")
    hub = replace(HUB, public_url=front_end, state_dir=tmp_path)

    found = hardening_checks.probe_front_end(hub)

    said = words(found)
    assert "sets jupyterhub-session-id without Secure" in said
    assert "no Strict-Transport-Security" in said
    assert "its own host" in said


def test_a_front_end_that_is_not_trusted_is_told(
    front_end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")

    (finding,) = hardening_checks.probe_front_end(
        replace(HUB, public_url=front_end, state_dir=tmp_path)
    )

    assert finding.grade is Grade.WARNING
    assert "could not be checked" in finding.sentence


def test_without_an_https_address_nothing_is_asked() -> None:
    (finding,) = hardening_checks.probe_front_end(HUB)

    assert finding.grade is Grade.SKIPPED
    assert "public_url" in finding.cure
