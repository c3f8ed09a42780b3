"""Certificates of the connections between hub, proxy and sessions.

A session has a key and a certificate of its own, made anew by each start of its server, which
never leave the server's memory. The server reports the certificate with its port; from then on hub
and proxy talk to nobody else at that address. What the hub shows to sessions is signed by an
authority of the portal, whose certificate each job gets.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import ssl
from collections.abc import MutableMapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from spawner.errors import SiteError

if TYPE_CHECKING:
    from cryptography import x509

# In the job's environment: the authority's certificate, DER as base64, for it is one line.
AUTHORITY_VARIABLE = "PORTAL_HUB_AUTHORITY"
# In the folder that only the hub's account can read.
AUTHORITY_FILE = "authority.pem"
IDENTITY_FILE = "hub.pem"
# No session runs that long; the clock of a node may be behind.
_SESSION_DAYS = 3660
_CLOCK_DAYS = 1


def read_authority(folder: Path) -> str:
    """Return the authority's certificate as the jobs get it.

    Args:
        folder: The hub's folder of certificates.

    Returns:
        One line.

    Raises:
        SiteError: If there is none.
    """
    path = folder / AUTHORITY_FILE
    try:
        pem = path.read_text(encoding="ascii")
    except OSError as error:
        raise SiteError(
            f"The portal's certificates cannot be read ({path}: {error.strerror}), so no session"
            " can start. The proxy makes them when it starts: restart it."
        ) from error
    return base64.b64encode(ssl.PEM_cert_to_DER_cert(pem)).decode()


def client_context(folder: Path, certificate: str) -> ssl.SSLContext:
    """Return how the hub connects to a session: with its own identity, to that session alone.

    Args:
        folder: The hub's folder of certificates.
        certificate: The one that the session reported, as PEM.

    Returns:
        The context. It trusts this certificate and no other, so the name in it does not matter.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    context.load_cert_chain(folder / IDENTITY_FILE)
    return context


def check_certificate(text: str) -> str:
    """Return a certificate that a session reports, without anything beside it.

    Args:
        text: PEM.

    Returns:
        PEM of this one certificate.

    Raises:
        ValueError: If it is none.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    certificate = x509.load_pem_x509_certificate(text.encode("ascii"))
    return certificate.public_bytes(Encoding.PEM).decode()


def take_identity(environment: MutableMapping[str, str], address: str) -> str:
    """Give the server of this process a new key and certificate.

    They are in files without a name, for as long as the process lives, where JupyterHub looks for
    those of its internal TLS: nothing is left on a disk, and other users cannot open them.

    Args:
        environment: Holds AUTHORITY_VARIABLE; JUPYTERHUB_SSL_KEYFILE, _CERTFILE and _CLIENT_CA
            are set.
        address: Address of this node.

    Returns:
        The certificate as PEM.
    """
    job = environment.get("SLURM_JOB_ID", "")
    key, certificate = make_identity(f"Session of job {job}", address)
    authority = ssl.DER_cert_to_PEM_cert(base64.b64decode(environment[AUTHORITY_VARIABLE]))
    for name, text in (("KEYFILE", key), ("CERTFILE", certificate), ("CLIENT_CA", authority)):
        environment[f"JUPYTERHUB_SSL_{name}"] = _keep_in_memory(name.lower(), text)
    return certificate


def make_identity(name: str, address: str) -> tuple[str, str]:
    """Make a key and a certificate that it signs itself.

    Args:
        name: Whose it is, for people.
        address: Where its holder listens.

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

    key = ec.generate_private_key(ec.SECP256R1())
    subject = name_of(name)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=_CLOCK_DAYS))
        .not_valid_after(now + timedelta(days=_SESSION_DAYS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([alternative_name(address)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    key_text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key_text.decode(), certificate.public_bytes(Encoding.PEM).decode()


def name_of(text: str) -> x509.Name:
    """Return a name as certificates have it.

    Args:
        text: The common name.

    Returns:
        The name, of the portal's organization.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Data Scientist Portal"),
            x509.NameAttribute(NameOID.COMMON_NAME, text),
        ]
    )


def alternative_name(address: str) -> x509.GeneralName:
    """Return an address as certificates have it.

    Args:
        address: IP address or host name.

    Returns:
        The name that clients compare with the address that they connect to.
    """
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


def _keep_in_memory(name: str, text: str) -> str:
    # Not inherited by kernels: the descriptor is closed when another program is started.
    descriptor = os.memfd_create(name)
    os.write(descriptor, text.encode())
    os.fchmod(descriptor, 0o400)
    return f"/proc/{os.getpid()}/fd/{descriptor}"
