"""What is made of a portal's public address: each lack has a sentence and a cure."""

import http.server
import json
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from portal.hub.settings.hub import HubSettings
from portal.site.checks.finding import Finding, Grade
from portal.site.checks.front_end import (
    assess_hsts,
    assess_seen_address,
    check_front_end,
    probe_front_end,
)
from tests.hub.private_slapd import Authority
from tests.support.stand_in_server import Handler, serving

URL = "https://portal.example.com"
HUB = HubSettings(address="10.77.0.1")


def words(findings: list[Finding]) -> str:
    return " ".join(f"{one.grade.value} {one.sentence} {one.cure}" for one in findings)


@pytest.mark.parametrize("value", ["", "max-age=300"])
def test_browsers_that_are_not_told_to_use_tls_are_a_warning(value: str) -> None:
    (finding,) = assess_hsts(value, URL)

    assert finding.grade is Grade.WARNING
    assert "no Strict-Transport-Security" in finding.sentence
    assert finding.cure
    assert assess_hsts("max-age=31536000; includeSubDomains", URL) == []


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


class FrontEnd(Handler):
    """A front end without HSTS, before a hub."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        if self.path.endswith("/status"):
            assert self.headers["Authorization"] == "token 0123"
            self.wfile.write(json.dumps({"asked_from": self.client_address[0]}).encode())


@pytest.fixture
def front_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of a server whose certificate is trusted here."""
    authority = Authority.create(tmp_path / "authority")
    certificate, key = authority.issue("front", "DNS:localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    server = http.server.HTTPServer(("127.0.0.1", 0), FrontEnd)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server):
        yield f"https://localhost:{server.server_port}"


def test_the_front_end_is_asked_over_tls(front_end: str, tmp_path: Path) -> None:
    (tmp_path / "operator-token").write_text("0123\n")
    hub = replace(HUB, public_url=front_end, state_dir=tmp_path)

    found = probe_front_end(hub)

    said = words(found)
    assert f"{front_end}: the certificate expires on" in said
    assert "no Strict-Transport-Security" in said
    assert "its own host" in said


def test_a_front_end_that_is_not_trusted_is_told(
    front_end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")

    (finding,) = probe_front_end(replace(HUB, public_url=front_end, state_dir=tmp_path))

    assert finding.grade is Grade.PROBLEM
    assert "browsers will not trust it" in finding.sentence


def test_a_front_end_that_does_not_answer_is_told() -> None:
    (finding,) = probe_front_end(replace(HUB, public_url="https://127.0.0.1:1"))

    assert finding.grade is Grade.PROBLEM
    assert "does not answer" in finding.sentence


def test_a_front_end_before_a_hub_that_is_not_there_still_has_its_certificate_read(
    front_end: str, tmp_path: Path
) -> None:
    found = probe_front_end(replace(HUB, public_url=front_end, state_dir=tmp_path))

    assert [one.grade for one in found] == [Grade.WARNING] * 3
    assert "the certificate expires on" in found[0].sentence
    assert "the hub does not answer" in found[-1].sentence


async def test_without_an_https_address_nothing_is_asked() -> None:
    (finding,) = await check_front_end(HUB)

    assert finding.grade is Grade.SKIPPED
    assert "public_url" in finding.cure
