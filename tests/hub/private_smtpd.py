"""A real mail server, OpenSMTPD, on a free port, that keeps what it takes in a folder."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from deploy.one_machine.packages import install_packages, missing_packages
from tests.hub.private_slapd import Authority, free_port
from tests.support.eventually import eventually

PACKAGE = "opensmtpd"
DOMAIN = "example.org"
_CONFIG = """\
pki mail cert "{certificate}"
pki mail key "{key}"
listen on 127.0.0.1 port {port} tls-require pki mail hostname mail.{domain}
table anybody {{ "@{domain}" = nobody }}
action keep maildir "{folder}/%{{rcpt.user}}" virtual <anybody>
match from any for domain "{domain}" action keep
"""


@dataclass(frozen=True)
class Smtpd:
    """A running mail server for one domain; it takes mail over StartTLS alone."""

    port: int
    folder: Path

    def mail_to(self, user: str) -> list[EmailMessage]:
        """Return what the server has kept for a user, the oldest first."""
        found = sorted((self.folder / user / "new").glob("*"), key=lambda path: path.stat().st_ino)
        read = (message_from_bytes(path.read_bytes(), policy=policy.default) for path in found)
        return [message for message in read if isinstance(message, EmailMessage)]


@contextlib.contextmanager
def running_smtpd(authority: Authority, *, port: int = 0) -> Iterator[Smtpd]:
    """Run the mail server, which is installed first where it is missing."""
    if missing := missing_packages([PACKAGE]):
        install_packages(missing)
    port = port or free_port()
    certificate, key = authority.issue("smtpd", "IP:127.0.0.1")
    # OpenSMTPD delivers as the account `nobody`, and refuses a key that others can read.
    key.chmod(0o600)
    folder = Path(tempfile.mkdtemp(prefix="mail-", dir="/var/tmp"))
    try:
        shutil.chown(folder, "nobody")
        config = folder / "smtpd.conf"
        names = {"certificate": certificate, "key": key, "folder": folder, "domain": DOMAIN}
        config.write_text(_CONFIG.format(port=port, **names))
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                ["/usr/sbin/smtpd", "-d", "-f", config], stdout=log, stderr=subprocess.STDOUT
            )
        try:
            eventually(lambda: _greets(port) or process.poll() is not None, timeout_s=20)
            if process.poll() is not None:
                pytest.fail((folder / "log").read_text())
            yield Smtpd(port, folder)
        finally:
            process.terminate()
            process.wait(20)
    finally:
        shutil.rmtree(folder)


def _greets(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2) as client:
        return client.recv(3) == b"220"
    return False
