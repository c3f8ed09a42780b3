"""Hands mail to the site's mail server, and keeps what it did not take for later."""

import asyncio
import logging
import smtplib
import ssl
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage

from portal.hub.settings.mail import MailSettings, MailTls

# In secrets.env, so that neither portal.toml nor the hub's command line holds it.
PASSWORD = "SMTP_PASSWORD"  # noqa: S105 (the name of a variable)
_TIMEOUT_S = 20.0
# Later it would tell of the past.
_KEPT_S = 3600.0
# While the server is away; the oldest goes first.
_MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class _Waiting:
    message: EmailMessage
    since: float


class Outbox:
    """Mail that waits for the server.

    Args:
        password: For a login at the server; not used without `settings.user`.
        clock: Seconds since 1970 (UTC).
    """

    def __init__(
        self,
        settings: MailSettings,
        *,
        password: str,
        log: logging.Logger,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._password = password
        self._log = log
        self._clock = clock
        self._waiting: deque[_Waiting] = deque(maxlen=_MOST_KEPT)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: EmailMessage) -> None:
        """Keep a message until the server has taken it, for an hour at most."""
        self._waiting.append(_Waiting(message, self._clock()))

    async def send(self) -> None:
        """Hand over what waits; what the server does not take now stays."""
        while self._waiting and self._clock() - self._waiting[0].since > _KEPT_S:
            self._waiting.popleft()
            self._log.error("A mail was not sent within an hour and is given up.")
        if self._waiting:
            await asyncio.to_thread(self._send_all)

    def _send_all(self) -> None:
        try:
            with connect(self._settings, password=self._password) as server:
                while self._waiting:
                    self._send_one(server, self._waiting[0].message)
                    self._waiting.popleft()
        except (OSError, smtplib.SMTPException) as error:
            self._log.warning(
                "The mail server %s did not take mail and is asked again: %s",
                self._settings.server,
                error,
            )

    def _send_one(self, server: smtplib.SMTP, message: EmailMessage) -> None:
        try:
            server.send_message(message)
            self._log.info("Mail to %s: %s", message["To"], message["Subject"])
        except (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError) as error:
            if _is_temporary(error):
                raise
            self._log.error("The mail server refuses mail to %s: %s", message["To"], error)


def connect(settings: MailSettings, *, password: str = "") -> smtplib.SMTP:
    """Return a connection to the mail server, encrypted and logged in as the settings say.

    Args:
        password: Empty to connect without the login.

    Raises:
        OSError: If the server does not answer, or its certificate is not trusted.
        SMTPException: If it refuses the hub.
    """
    context = ssl.create_default_context()
    if settings.tls is MailTls.SMTPS:
        server: smtplib.SMTP = smtplib.SMTP_SSL(
            settings.host, settings.port, timeout=_TIMEOUT_S, context=context
        )
    else:
        server = smtplib.SMTP(settings.host, settings.port, timeout=_TIMEOUT_S)
    try:
        if settings.tls is MailTls.STARTTLS:
            server.starttls(context=context)
        if settings.user and password:
            server.login(settings.user, password)
    except BaseException:
        server.close()
        raise
    return server


def _is_temporary(error: smtplib.SMTPRecipientsRefused | smtplib.SMTPDataError) -> bool:
    if isinstance(error, smtplib.SMTPDataError):
        return error.smtp_code < 500
    return any(code < 500 for code, _ in error.recipients.values())
