"""The certificate of this machine's LDAP server, which signs itself and is what clients trust.

openssl follows links, and the folder for the results belongs to the LDAP server's account. So
root lets openssl write into a private folder and moves the results from there.
"""

import tempfile
from pathlib import Path

from deploy.common.command import run, succeeds
from deploy.common.files import ensure_file, ensure_folder, read_plain
from deploy.one_machine.layout import LDAP_CA, SLAPD_DIR

TLS_DIR = SLAPD_DIR / "tls"
KEY = TLS_DIR / "key.pem"
CERTIFICATE = TLS_DIR / "certificate.pem"
DAYS = 730
RENEW_BEFORE_S = 30 * 24 * 3600
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
# Clients name the server by its address; those that only compare DNS names find it as one too.
# The second is what Python asks of what it trusts, from 3.13 on.
EXTENSIONS = (
    "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:127.0.0.1",
    "keyUsage=critical,digitalSignature,keyCertSign",
    "extendedKeyUsage=serverAuth",
)


def ensure_certificate(owner: str) -> None:
    """Make the certificate if it is missing or expires soon.

    `owner` is the account that reads the key.
    """
    ensure_folder(TLS_DIR, mode=0o700, user=owner)
    if not _is_valid():
        _make(owner)
    # Clients run as any account, and only the LDAP server's may enter its folder.
    ensure_file(LDAP_CA, read_plain(CERTIFICATE) or "")


def _is_valid() -> bool:
    check = ("openssl", "x509", "-noout", "-checkend", str(RENEW_BEFORE_S), "-in", CERTIFICATE)
    return read_plain(CERTIFICATE) is not None and succeeds(check)


def _make(owner: str) -> None:
    usage = [word for extension in EXTENSIONS for word in ("-addext", extension)]
    with tempfile.TemporaryDirectory() as folder:
        made = {KEY: Path(folder, "key"), CERTIFICATE: Path(folder, "certificate")}
        files = ("-keyout", made[KEY], "-out", made[CERTIFICATE])
        about = ("-subj", "/CN=localhost", "-days", str(DAYS))
        run(["openssl", "req", "-x509", *NEW_KEY, *about, *usage, *files])
        for path, new in made.items():
            ensure_file(path, new.read_text(), mode=0o600, user=owner)
