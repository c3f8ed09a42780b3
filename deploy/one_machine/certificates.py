"""A certificate authority of this machine, and the certificate of its LDAP server.

openssl follows links, and the folder for the results belongs to the LDAP server's account. So
root lets openssl write into a private folder and moves the results from there.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from deploy.common.command import run, succeeds
from deploy.common.files import ensure_file, ensure_folder, read_plain
from deploy.one_machine.layout import LDAP_CA, SLAPD_DIR

TLS_DIR = SLAPD_DIR / "tls"
CA_KEY = TLS_DIR / "ca.key"
CA_CERTIFICATE = TLS_DIR / "ca.pem"
SERVER_KEY = TLS_DIR / "server.key"
SERVER_CERTIFICATE = TLS_DIR / "server.pem"
CA_DAYS = 3650
SERVER_DAYS = 730
RENEW_BEFORE_S = 30 * 24 * 3600
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
# Clients name the server by its address; those that only compare DNS names find it as one too.
SERVER_EXTENSIONS = """\
subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:127.0.0.1
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
"""


def ensure_certificates(owner: str) -> bool:
    """Make the authority and the server's certificate if they are missing or expire soon.

    `owner` is the account that reads the server's key.

    Returns:
        Whether the server's certificate is new.
    """
    ensure_folder(TLS_DIR, mode=0o700, user=owner)
    if not _is_valid(CA_CERTIFICATE):
        _make_authority(owner)
    # A new authority outdates a certificate whose days are not over.
    is_new = not (_is_valid(SERVER_CERTIFICATE) and _is_signed())
    if is_new:
        _make_server_certificate(owner)
    # Clients run as any account, and only the LDAP server's may enter its folder.
    ensure_file(LDAP_CA, read_plain(CA_CERTIFICATE) or "")
    return is_new


def _is_valid(certificate: Path) -> bool:
    check = ("openssl", "x509", "-noout", "-checkend", str(RENEW_BEFORE_S), "-in")
    return read_plain(certificate) is not None and succeeds([*check, certificate])


def _is_signed() -> bool:
    return succeeds(["openssl", "verify", "-CAfile", CA_CERTIFICATE, SERVER_CERTIFICATE])


def _make_authority(owner: str) -> None:
    subject = ("-subj", "/O=Data Scientist Portal/CN=Certificate authority of this machine")
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    days = ("-days", str(CA_DAYS))
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = Path(folder, "key"), Path(folder, "certificate")
        files = ("-keyout", key, "-out", certificate)
        run(["openssl", "req", "-x509", *NEW_KEY, *subject, *usage, *days, *files])
        # Of root: the LDAP server signs nothing.
        ensure_file(CA_KEY, key.read_text(), mode=0o600)
        ensure_file(CA_CERTIFICATE, certificate.read_text(), mode=0o600, user=owner)


def _make_server_certificate(owner: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        key, request, certificate = (Path(folder, name) for name in ("key", "csr", "certificate"))
        extensions, serial = Path(folder, "extensions"), Path(folder, "serial")
        extensions.write_text(SERVER_EXTENSIONS)
        files = ("-keyout", key, "-out", request)
        run(["openssl", "req", "-new", *NEW_KEY, "-subj", "/CN=localhost", *files])
        authority = ("-CA", CA_CERTIFICATE, "-CAkey", CA_KEY)
        # openssl would keep its serial numbers next to the authority's certificate.
        number = ("-CAcreateserial", "-CAserial", serial)
        settings = ("-days", str(SERVER_DAYS), "-extfile", extensions, "-out", certificate)
        run(["openssl", "x509", "-req", "-in", request, *authority, *number, *settings])
        ensure_file(SERVER_KEY, key.read_text(), mode=0o600, user=owner)
        ensure_file(SERVER_CERTIFICATE, certificate.read_text(), mode=0o600, user=owner)
