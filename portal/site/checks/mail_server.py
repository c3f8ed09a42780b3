"""Checks the mail server: whether it answers, and whether its certificate is trusted."""

import smtplib
import ssl

from portal.hub.mail.outbox import connect
from portal.hub.settings.mail import MailSettings
from portal.site.checks.finding import Finding, ok, warning
from portal.site.checks.runner import in_thread


async def check_mail_server(mail: MailSettings) -> list[Finding]:
    """Connect as the hub does, without its login, and send nothing."""
    return [await in_thread(lambda: _probe(mail))]


def _probe(mail: MailSettings) -> Finding:
    try:
        with connect(mail):
            return ok(f"{mail.server} answers.")
    except ssl.SSLCertVerificationError as error:
        return warning(
            f"{mail.server} has a certificate that is not trusted: {error.verify_message}.",
            "Name the server as its certificate does, or add the authority that signed it to those"
            " of this host.",
        )
    except (OSError, smtplib.SMTPException) as error:
        return warning(
            f"{mail.server} takes no mail from this host: {error}.",
            "Start it, or correct server and tls in [mail]. Until then users get no mail.",
        )
