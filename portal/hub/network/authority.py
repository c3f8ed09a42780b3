"""The portal's certificate authority, and the certificate that hub and proxy show to sessions.

Both are made and renewed when the proxy starts. The authority keeps its key, so running sessions
still trust what it signs after its certificate was renewed.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

from dsportal.whole_file import write_whole
from spawner.certificates import (
    AUTHORITY_FILE,
    IDENTITY_FILE,
    alternative_name,
    make_name,
)

KEY_FILE = "authority-key.pem"
AUTHORITY_DAYS = 3650
IDENTITY_DAYS = 1825
_CLOCK_DAYS = 1


def ensure_certificates(folder: Path, address: str, *, now: datetime | None = None) -> bool:
    """Make the authority and the hub's certificate if they are missing or half expired.

    Args:
        folder: The hub's folder of certificates; only this account may read it.
        address: Where sessions reach the hub; a changed address makes a new certificate.
        now: The present, with its time zone; by default the clock's.

    Returns:
        Whether anything was made.
    """
    now = now or datetime.now(UTC)
    folder.mkdir(mode=0o700, exist_ok=True)
    key = _ensure_key(folder / KEY_FILE)
    authority = _read(folder / AUTHORITY_FILE)
    is_new = authority is None or _is_old(authority, now)
    if authority is None or is_new:
        authority = _make_authority(key, now)
        _write(folder / AUTHORITY_FILE, _pem(authority))
    identity = _read(folder / IDENTITY_FILE)
    names = x509.SubjectAlternativeName([alternative_name(address)])
    # Made again with its authority, and if sessions now use another address.
    if not is_new and identity is not None and not _is_old(identity, now):
        found = identity.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        if found.value == names:
            return False
    own_key = ec.generate_private_key(ec.SECP256R1())
    identity = _make_identity(own_key, authority, key, names, now)
    # One file, so that nobody reads the key of one and the certificate of another.
    _write(folder / IDENTITY_FILE, _key_pem(own_key) + _pem(identity))
    return True


def _ensure_key(path: Path) -> Any:
    if not path.exists():
        _write(path, _key_pem(ec.generate_private_key(ec.SECP256R1())))
    return load_pem_private_key(path.read_bytes(), password=None)


def _make_authority(key: Any, now: datetime) -> x509.Certificate:
    name = make_name("Certificate authority of the portal")
    usage = x509.KeyUsage(
        key_cert_sign=True,
        crl_sign=True,
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        _builder(key, now, AUTHORITY_DAYS)
        .subject_name(name)
        .issuer_name(name)
        # path_length=0: it signs certificates of servers and clients, no further authorities.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )


def _make_identity(
    own_key: Any,
    authority: x509.Certificate,
    key: Any,
    names: x509.SubjectAlternativeName,
    now: datetime,
) -> x509.Certificate:
    # The hub answers sessions, and hub and proxy ask them.
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    return (
        _builder(own_key, now, IDENTITY_DAYS)
        .subject_name(make_name("Hub and proxy"))
        .issuer_name(authority.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(names, critical=False)
        .add_extension(issuer, critical=False)
        .sign(key, hashes.SHA256())
    )


def _builder(key: Any, now: datetime, days: int) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # A node's clock may be behind.
        .not_valid_before(now - timedelta(days=_CLOCK_DAYS))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _is_old(certificate: x509.Certificate, now: datetime) -> bool:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    # Half: renewed long before it ends, even if the proxy is seldom started.
    return now > start + (end - start) / 2


def _read(path: Path) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        return None


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: Any) -> bytes:
    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _write(path: Path, content: bytes) -> None:
    # Private: some of these files are keys.
    write_whole(path, content, mode=0o600, survives_power_loss=True)
