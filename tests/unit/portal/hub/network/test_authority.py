"""The portal's certificate authority and its renewal."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from portal.hub.network.authority import AUTHORITY_DAYS, IDENTITY_DAYS, ensure_certificates
from spawner.certificates import AUTHORITY_FILE, IDENTITY_FILE, authority_fingerprint

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


@pytest.mark.parametrize(
    ("file", "lifetime_days"), [(IDENTITY_FILE, IDENTITY_DAYS), (AUTHORITY_FILE, AUTHORITY_DAYS)]
)
def test_a_certificate_is_renewed_at_half_its_life(
    tmp_path: Path, file: str, lifetime_days: int
) -> None:
    ensure_certificates(tmp_path, ADDRESS, now=NOW)
    first = certificate(tmp_path / file)
    half = NOW + timedelta(days=lifetime_days / 2)

    ensure_certificates(tmp_path, ADDRESS, now=half - timedelta(days=2))
    assert certificate(tmp_path / file) == first
    ensure_certificates(tmp_path, ADDRESS, now=half + timedelta(days=2))
    assert certificate(tmp_path / file) != first


def test_a_renewed_authority_is_the_same_and_a_replaced_one_is_another(tmp_path: Path) -> None:
    ensure_certificates(tmp_path, ADDRESS, now=NOW)
    first = authority_fingerprint(tmp_path)
    ensure_certificates(tmp_path, ADDRESS, now=NOW + timedelta(days=AUTHORITY_DAYS))
    renewed = authority_fingerprint(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    assert authority_fingerprint(tmp_path) == ""
    ensure_certificates(tmp_path, ADDRESS, now=NOW)

    assert first == renewed != ""
    assert authority_fingerprint(tmp_path) not in {"", first}
