"""A real mail server, Exim, on a free port, that keeps what it takes in one file."""

import contextlib
import mailbox
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

from tests.hub.private_slapd import Authority, free_port
from tests.needs import ensure_packages
from tests.support.eventually import eventually

PACKAGE, ACCOUNT = "exim4-daemon-light", "Debian-exim"
DOMAIN = "example.org"
_CONFIG = """\
primary_hostname = mail.{domain}
spool_directory = {folder}/spool
log_file_path = {folder}/%slog
pid_file_path = {folder}/pid
deliver_drop_privilege = true
tls_advertise_hosts = *
tls_certificate = {certificate}
tls_privatekey = {key}
acl_smtp_rcpt = recipient

begin acl
recipient:
  deny    !encrypted = *
          message = only over TLS
  accept  domains = {domain}
  deny    message = no such domain here

begin routers
keep:
  driver = accept
  transport = keep

begin transports
keep:
  driver = appendfile
  file = {folder}/mbox
  user = {account}
"""


@dataclass(frozen=True)
class Smtpd:
    """A running mail server for one domain; it takes mail over StartTLS alone."""

    port: int
    folder: Path

    def mail_to(self, user: str) -> list[EmailMessage]:
        """Return what the server has kept for a user, the oldest first."""
        with contextlib.closing(mailbox.mbox(self.folder / "mbox", create=False)) as kept:
            read = [message_from_bytes(raw.as_bytes(), policy=policy.default) for raw in kept]
        mine = (message for message in read if message["To"] == f"{user}@{DOMAIN}")
        return [message for message in mine if isinstance(message, EmailMessage)]


@contextlib.contextmanager
def running_smtpd(authority: Authority, *, port: int = 0) -> Iterator[Smtpd]:
    """Run the mail server, which is installed first where it is missing."""
    ensure_packages(PACKAGE)
    port = port or free_port()
    # Its account has to come to them, which pytest's folders do not allow.
    folder = Path(tempfile.mkdtemp(prefix="mail-", dir="/var/tmp"))
    try:
        certificate, key = (
            shutil.copy(path, folder) for path in authority.issue("smtpd", "IP:127.0.0.1")
        )
        config = folder / "exim.conf"
        names = {"certificate": certificate, "key": key, "domain": DOMAIN, "account": ACCOUNT}
        config.write_text(_CONFIG.format(folder=folder, **names))
        (folder / "mbox").touch()
        for path in (folder, *folder.iterdir()):
            if path != config:
                shutil.chown(path, ACCOUNT)
        argv = ["/usr/sbin/exim4", "-bdf", "-oX", f"127.0.0.1.{port}", "-C", config]
        process = subprocess.Popen(argv)
        try:
            eventually(lambda: _greets(port) or process.poll() is not None, timeout_s=20)
            if process.poll() is not None:
                pytest.fail("".join(path.read_text() for path in folder.glob("*log")))
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
