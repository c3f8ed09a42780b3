"""Certificates for the connections between hub, proxy and sessions.

Each start of a session's server makes a new key and certificate, which never leave the server's
memory. The server reports the certificate with its port; from then on hub and proxy accept
nothing else at that address. The hub's own certificate is signed by an authority of the portal,
whose certificate each job gets.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import ipaddress
import os
import ssl
from collections.abc import MutableMapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from spawner.errors import SiteError

if TYPE_CHECKING:
    # Imported only here: loading it takes 0.1 s, and a session without TLS needs none of it.
    from cryptography import x509

# In the job's environment: the authority's certificate as base64 of DER, so that it is one line.
AUTHORITY_VARIABLE = "PORTAL_HUB_AUTHORITY"
# In the folder that only the hub's account can read.
AUTHORITY_FILE = "authority.pem"
IDENTITY_FILE = "hub.pem"
# No session runs that long; the clock of a node may be behind.
_SESSION_DAYS = 3660
_CLOCK_DAYS = 1


def read_authority(folder: Path) -> str:
    """Return the authority's certificate as jobs get it: base64 of DER, on one line."""
    path = folder / AUTHORITY_FILE
    try:
        pem = path.read_text(encoding="ascii")
    except OSError as error:
        raise SiteError(
            f"The portal's certificates cannot be read ({path}: {error.strerror}), so no session"
            " can start. The proxy makes them when it starts: restart it."
        ) from error
    return base64.b64encode(ssl.PEM_cert_to_DER_cert(pem)).decode()


def authority_fingerprint(folder: Path) -> str:
    """Return a name of the authority's key, which stays when its certificate is renewed.

    Returns:
        Empty if there is no authority (yet).
    """
    try:
        return _key_fingerprint((folder / AUTHORITY_FILE).read_bytes())
    except (OSError, ValueError):
        return ""


# Pages ask for each session.
@functools.lru_cache(maxsize=4)
def _key_fingerprint(pem: bytes) -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = x509.load_pem_x509_certificate(pem).public_key()
    content = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(content).hexdigest()[:16]


def client_context(folder: Path, certificate: str) -> ssl.SSLContext:
    """Return a TLS context that has the hub's identity and trusts one session's certificate.

    `certificate` is the session's, as PEM. Nothing else is trusted, so its names do not matter.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # This one certificate is trusted, whatever name it holds.
    context.check_hostname = False
    # Lets a certificate that is no authority be an anchor of trust.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    # The session's server in turn answers only clients that the portal's authority signed.
    context.load_cert_chain(folder / IDENTITY_FILE)
    return context


def check_certificate(text: str) -> str:
    """Return the PEM of the one certificate in a report, without anything else in it.

    Raises:
        ValueError: If `text` is not a certificate as PEM.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    certificate = x509.load_pem_x509_certificate(text.encode("ascii"))
    return certificate.public_bytes(Encoding.PEM).decode()


def load_identity(environment: MutableMapping[str, str], address: str) -> str:
    """Give the server of this process a new key and certificate; return the certificate as PEM.

    They are in nameless memory files that live as long as the process, and JupyterHub's variables
    for internal TLS point there: nothing is left on a disk, and other users cannot open them.

    Args:
        environment: Holds AUTHORITY_VARIABLE; JUPYTERHUB_SSL_KEYFILE, _CERTFILE and _CLIENT_CA
            are set.
    """
    job = environment.get("SLURM_JOB_ID", "")
    key, certificate = make_identity(f"Session of job {job}", address)
    authority = ssl.DER_cert_to_PEM_cert(base64.b64decode(environment[AUTHORITY_VARIABLE]))
    for name, text in (("KEYFILE", key), ("CERTFILE", certificate), ("CLIENT_CA", authority)):
        environment[f"JUPYTERHUB_SSL_{name}"] = _keep_in_memory(name.lower(), text)
    return certificate


def make_identity(name: str, address: str) -> tuple[str, str]:
    """Make a self-signed certificate.

    Args:
        address: IP address or host name that its holder listens on.

    Returns:
        Key and certificate, as PEM.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    # Every start makes a key. RSA would take 55 ms in the median (2,048 bits), this under 1 ms.
    key = ec.generate_private_key(ec.SECP256R1())
    subject = make_name(name)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=_CLOCK_DAYS))
        .not_valid_after(now + timedelta(days=_SESSION_DAYS))
        # Its holder cannot vouch for any other certificate.
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([alternative_name(address)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    key_text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key_text.decode(), certificate.public_bytes(Encoding.PEM).decode()


def make_name(text: str) -> x509.Name:
    """Return an X.509 name with this common name, in the portal's organization."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Data Scientist Portal"),
            x509.NameAttribute(NameOID.COMMON_NAME, text),
        ]
    )


def alternative_name(address: str) -> x509.GeneralName:
    """Return the subject alternative name of an IP address or host name."""
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


def _keep_in_memory(name: str, text: str) -> str:
    # Not inherited by kernels: the descriptor is closed when another program is started.
    descriptor = os.memfd_create(name)
    os.write(descriptor, text.encode())
    # The kernel makes such a file with the mode 0777.
    os.fchmod(descriptor, 0o400)
    return f"/proc/{os.getpid()}/fd/{descriptor}"
