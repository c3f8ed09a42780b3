"""The table [mail] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

import re
from dataclasses import dataclass
from enum import Enum

from dsportal.amounts import SECONDS_PER_MINUTE
from portal.settings.validators import each_like, like
from spawner.settings.schema import setting

_HOST = r"(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?"
_DOMAIN = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
# One address, with nothing that a header or an option of sbatch would read as more.
ADDRESS = re.compile(rf"[A-Za-z0-9._%+=-]{{1,64}}@{_DOMAIN}", re.ASCII)
_LOCAL = re.compile(r"(?:localhost|127\.[0-9.]+|\[::1\])(?::[0-9]+)?")
_PORTS = {"starttls": 587, "smtps": 465, "none": 25}


class MailTls(Enum):
    """Encryption of the connection to the mail server."""

    STARTTLS = "starttls"
    SMTPS = "smtps"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class MailSettings:
    """Mail to users about their sessions, to those who choose it on the form.

    The site decides where each user may have mail, so that nobody can have it sent to others.
    """

    server: str = setting(
        'Mail server, such as "mail.example.org" or "mail.example.org:587". Empty: no mail is sent,'
        " and the form does not offer it.",
        default="",
        check=like(f"(?:{_HOST})?", 'it must look like "mail.example.org" or "[::1]:25".'),
    )
    tls: MailTls = setting(
        'Encryption: "starttls" (port 587), "smtps" (port 465) or, for a server on this host only,'
        ' "none" (port 25). The server\'s certificate is checked against those of the system.',
        default=MailTls.STARTTLS,
    )
    user: str = setting(
        "Name with which the hub logs in at the server. The password is SMTP_PASSWORD in"
        " secrets.env. Empty: without a login.",
        default="",
    )
    sender: str = setting(
        "Address that the mail comes from, such as portal@example.org. Required with a server.",
        default="",
        check=like(rf"(?:[^\s@<>,;]+@{_DOMAIN})?", 'it must look like "portal@example.org".'),
    )
    domain: str = setting(
        "Domain of the users' addresses: ada gets her mail at ada@DOMAIN. Required with a server,"
        " unless ldap_attribute is given.",
        default="",
        check=like(rf"(?:{_DOMAIN})?", 'it must look like "example.org".'),
    )
    ldap_attribute: str = setting(
        'Attribute with the address in users\' LDAP entries, such as "mail". It is read at each'
        " login and goes before NAME@DOMAIN. Empty: it is not read.",
        default="",
        check=like("(?:[A-Za-z][A-Za-z0-9-]*)?", 'it must look like "mail".'),
    )
    own_domains: tuple[str, ...] = setting(
        "Domains at which users may name an address of their own, which goes before the others."
        " Empty: they cannot.",
        default=(),
        check=each_like(_DOMAIN, 'must look like "example.org".'),
    )
    before_end_minutes: float = setting(
        "Minutes before the end of a session at which its user gets mail.",
        default=15.0,
        lowest=1,
        highest=1440,
    )

    def __post_init__(self) -> None:
        if not self.server:
            return
        for name in ("sender", "domain"):
            if not getattr(self, name) and not (name == "domain" and self.ldap_attribute):
                raise ValueError(f"it has a server and lacks the key '{name}'.")
        if self.tls is MailTls.NONE and not _LOCAL.fullmatch(self.server):
            raise ValueError(
                f'tls = "none" would send mail and password unencrypted to {self.server}. Use'
                ' "starttls" or "smtps", or a mail server on this host.'
            )

    def address_of(self, user: str, *, own: str, directory: str) -> str:
        """Return where a user's mail goes; "" for nowhere.

        Args:
            own: What the user has named, which the site may have ceased to allow.
            directory: What the user's entry in LDAP had.
        """
        of_site = f"{user}@{self.domain}" if self.domain else ""
        known = ("" if self.why_not(own) else own, self.ldap_attribute and directory, of_site)
        addresses = (each for each in known if ADDRESS.fullmatch(each))
        return next(addresses, "") if self.server else ""

    def why_not(self, address: str) -> str:
        """Return why users may not name an address, and the next step; "" if they may."""
        domain = address.rpartition("@")[2].lower()
        if ADDRESS.fullmatch(address) and domain in map(str.lower, self.own_domains):
            return ""
        return (
            f"You asked for {address!r:.80}. Name one address at"
            f" {' or '.join(self.own_domains) or 'no other place than that of your account'}."
        )

    @property
    def host(self) -> str:
        """The server's name or address, without brackets."""
        return self._parts[0].strip("[]")

    @property
    def port(self) -> int:
        """The server's port."""
        return int(self._parts[1] or _PORTS[self.tls.value])

    @property
    def before_end_s(self) -> float:
        """Seconds before the end of a session at which its user gets mail."""
        return self.before_end_minutes * SECONDS_PER_MINUTE

    @property
    def _parts(self) -> tuple[str, str]:
        host, _, port = self.server.rpartition(":")
        # The last colon of a bare IPv6 address in brackets is part of it.
        return (host, port) if host and not port.endswith("]") else (self.server, "")
