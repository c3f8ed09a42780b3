"""GPUs of kernels where the site refuses them or takes them back: the drain, and idleness."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.hub.private_slapd import Authority
from tests.hub.private_smtpd import DOMAIN, Smtpd, running_smtpd
from tests.sessions.test_kernel_gpus import (
    DSPORTAL,
    USER,
    WHERE,
    Session,
    kernel_jobs,
    notices,
    own_session,
    run,
)
from tests.support import parts
from tests.support.eventually import eventually, throughout
from tests.support.put_back import kept, put_back

pytestmark = pytest.mark.cluster
__all__ = ["own_session"]

SETTINGS = Path("/etc/data-scientist-portal/portal.toml")
# The session itself is given time to save, and so ends later than they go back.
IDLE = "\n[idle]\nafter_minutes = 0.2\nwarning_minutes = 0.2\n[meter]\ninterval_s = 1\n"
MAIL = '[mail]\nserver = "127.0.0.1:{port}"\nsender = "portal@{domain}"\ndomain = "{domain}"\n'
# Those of the system, with which the hub checks a mail server.
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
# How often the hub looks for what to tell.
LOOK_S = 15


@contextmanager
def site_with(change: Callable[[str], str]) -> Iterator[None]:
    """Let the hub run with other settings for a while."""
    with kept(SETTINGS):
        parts.stop("hub")
        SETTINGS.write_text(change(SETTINGS.read_text()))
        parts.start("hub")
        yield
        parts.stop("hub")
    parts.start("hub")


@pytest.fixture
def quick_idleness(authority: Authority) -> Iterator[Smtpd]:
    """Let the portal take idle GPUs back after some seconds, and write to a mail server."""
    with running_smtpd(authority) as smtpd, kept(AUTHORITIES):
        with AUTHORITIES.open("a") as authorities:
            authorities.write(authority.certificate.read_text())
        mail = MAIL.format(port=smtpd.port, domain=DOMAIN)
        with site_with(lambda settings: settings + IDLE + mail):
            yield smtpd


def test_while_the_portal_is_drained_no_kernel_gets_gpus(own_session: Session) -> None:
    with put_back((DSPORTAL, "undrain")):
        run(DSPORTAL, "drain", "--yes", "--message", "New disks until noon.")
        assert "New disks until noon. Until that is over" in own_session.run("%gpu 1")
        assert not kernel_jobs()


def test_idle_gpus_go_back_after_a_warning_with_one_mail_and_the_variables_stay(
    quick_idleness: Smtpd,
) -> None:
    session = Session(mail="At the end")
    try:
        session.open("a.ipynb")
        session.run("%gpu 1")
        session.has(1)
        session.run("kept = 1; import time; time.sleep(15)")
        assert session.gpus["gpus"] == 1

        eventually(lambda: any("Run a cell" in one for one in notices(session)), timeout_s=60)
        eventually(lambda: any("are given back" in one for one in notices(session)), timeout_s=60)
        eventually(lambda: not kernel_jobs(), timeout_s=30)
        assert session.run("print(kept)") == "1\n"
        assert not session.run(WHERE).startswith("kernel-of-")

        told = eventually(lambda: given_back(quick_idleness), 3 * LOOK_S)
        assert "The GPUs of a.ipynb did nothing for" in told[0].get_content()
        throughout(lambda: len(given_back(quick_idleness)) == 1, for_s=LOOK_S)
    finally:
        session.client.stop(session.token)


def given_back(smtpd: Smtpd) -> list[EmailMessage]:
    """Return the mail about GPUs that the user has got."""
    return [mail for mail in smtpd.mail_to(USER) if "given back" in str(mail["Subject"])]
