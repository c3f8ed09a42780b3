"""The portal's certificate authority and its renewal."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from portal.hub.network.authority import AUTHORITY_DAYS, IDENTITY_DAYS, ensure_certificates
from spawner.certificates import AUTHORITY_FILE, IDENTITY_FILE

NOW = datetime.now(UTC)
ADDRESS = "head.example.com"


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_only_the_hubs_account_reads_the_keys(tmp_path: Path) -> None:
    folder = tmp_path / "certificates"

    assert ensure_certificates(folder, ADDRESS)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(modes.values()) == {0o600}


def test_what_is_young_stays(tmp_path: Path) -> None:
    ensure_certificates(tmp_path, ADDRESS, now=NOW)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    assert not ensure_certificates(tmp_path, ADDRESS, now=NOW + timedelta(days=300))

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_another_address_needs_another_certificate_of_the_same_authority(tmp_path: Path) -> None:
    ensure_certificates(tmp_path, ADDRESS, now=NOW)
    authority = certificate(tmp_path / AUTHORITY_FILE)

    assert ensure_certificates(tmp_path, "10.77.0.1", now=NOW)

    assert certificate(tmp_path / AUTHORITY_FILE) == authority


@pytest.mark.parametrize("days", [IDENTITY_DAYS, AUTHORITY_DAYS * 3 // 4])
def test_a_session_from_before_a_renewal_trusts_the_hub_after_it(tmp_path: Path, days: int) -> None:
    ensure_certificates(tmp_path, ADDRESS, now=NOW)
    known_to_session = certificate(tmp_path / AUTHORITY_FILE)
    shown_before = certificate(tmp_path / IDENTITY_FILE)
    later = NOW + timedelta(days=days)

    assert ensure_certificates(tmp_path, ADDRESS, now=later)

    shown = certificate(tmp_path / IDENTITY_FILE)
    assert shown != shown_before
    verifier = PolicyBuilder().store(Store([known_to_session])).time(later)
    verifier.build_server_verifier(x509.DNSName(ADDRESS)).verify(shown, [])
