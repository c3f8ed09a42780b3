"""LDAP servers of the site: the order to try them in, and verified connections to them."""

import contextlib
import ipaddress
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import ldap3
from ldap3.core.exceptions import LDAPExceptionError
from ldap3.core.tls import check_hostname

from portal.hub.auth.ldap_refusal import POLICY_CONTROL, LdapRefusalError, read_reason

DEFAULT_PORTS = {"ldap": 389, "ldaps": 636}
# Else every login would first wait for the server that is down.
ASK_LAST_FOR_S = 60.0
# Asks for the reason of a refusal; a server that does not know it ignores it.
_WITH_POLICY = [(POLICY_CONTROL, False, None)]
# Results that say nothing about the password: another server may answer.
BUSY_RESULTS = {"busy", "unavailable"}


class LdapServerError(Exception):
    """One server failed; another one may answer.

    Args:
        is_untrusted: Whether the cause is its certificate.
    """

    def __init__(self, reason: str, *, is_untrusted: bool = False) -> None:
        super().__init__(reason)
        self.is_untrusted = is_untrusted


@dataclass(frozen=True, slots=True)
class LdapServer:
    """One server; `use_tls_at_once` for ldaps, else StartTLS."""

    host: str
    port: int
    use_tls_at_once: bool

    def __str__(self) -> str:
        return f"{'ldaps' if self.use_tls_at_once else 'ldap'}://{self.host}:{self.port}"


def parse_server(url: str) -> LdapServer:
    """Return the server of ldap://host[:port] or ldaps://host[:port].

    The settings have checked `url`; without a port it is the scheme's usual one.
    """
    parts = urlsplit(url)
    return LdapServer(
        parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme], parts.scheme == "ldaps"
    )


class LdapServers:
    """Servers in the order to try: as configured, but those that failed lately last.

    Args:
        urls: Addresses, best first.
    """

    def __init__(self, urls: Iterable[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._servers = [parse_server(url) for url in urls]
        self._clock = clock
        self._failed_at_s: dict[LdapServer, float] = {}
        # Servers are tried in several threads at once.
        self._lock = threading.Lock()

    def in_order(self) -> list[LdapServer]:
        """Return all servers, the first to try at the front."""
        horizon_s = self._clock() - ASK_LAST_FOR_S
        with self._lock:
            # sorted() keeps the configured order among equals.
            return sorted(self._servers, key=lambda s: self._failed_at_s.get(s, 0) > horizon_s)

    def note(self, server: LdapServer, *, answered: bool) -> None:
        """Record whether a server answered."""
        with self._lock:
            if answered:
                self._failed_at_s.pop(server, None)
            else:
                self._failed_at_s[server] = self._clock()


def bind(
    server: LdapServer,
    userdn: str | None,
    password: str | None,
    *,
    ca_file: str,
    connect_timeout_s: float,
    answer_timeout_s: float,
) -> ldap3.Connection | None:
    """Log in to one server over a verified connection.

    The password is sent only after the certificate was verified. `connect_timeout_s` is for the
    connection, `answer_timeout_s` for each answer, cut to whole seconds.

    Returns:
        The connection, which the caller closes, or None if the server refused the password.

    Raises:
        LdapRefusalError: If the server says that the account or its password is not in order.
        LdapServerError: If the server does not answer, is busy or cannot be trusted.

    Source:
        ldap3 2.9.1: without validate=CERT_REQUIRED it accepts any certificate, and without
        receive_timeout (whole seconds) it waits for an answer for ever.
    """
    connection = _connection(
        server,
        userdn,
        password,
        ca_file=ca_file,
        connect_timeout_s=connect_timeout_s,
        answer_timeout_s=answer_timeout_s,
    )
    try:
        _open(connection, server)
        is_bound = connection.bind(read_server_info=False, controls=_WITH_POLICY)
    except (LDAPExceptionError, OSError) as error:
        close(connection)
        raise LdapServerError(f"{server}: {error}", is_untrusted=_is_untrusted(error)) from error
    if is_bound:
        return connection
    result = connection.result
    close(connection)
    if result["description"] in BUSY_RESULTS:
        raise LdapServerError(f"{server}: {result['description']}")
    if (reason := read_reason(result)) is not None:
        raise LdapRefusalError(reason)
    return None


def certificate_end(server: LdapServer, *, ca_file: str, timeout_s: float) -> datetime:
    """Return when a server's certificate expires, in UTC, without logging in.

    `timeout_s` is for the connection and for each answer.

    Raises:
        LdapServerError: If the server does not answer or cannot be trusted.
    """
    connection = _connection(
        server,
        None,
        None,
        ca_file=ca_file,
        connect_timeout_s=timeout_s,
        answer_timeout_s=timeout_s,
    )
    try:
        _open(connection, server)
        end = str(connection.socket.getpeercert()["notAfter"])
    except (LDAPExceptionError, OSError) as error:
        raise LdapServerError(str(error), is_untrusted=_is_untrusted(error)) from error
    finally:
        close(connection)
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(end), UTC)


def _connection(
    server: LdapServer,
    userdn: str | None,
    password: str | None,
    *,
    ca_file: str,
    connect_timeout_s: float,
    answer_timeout_s: float,
) -> ldap3.Connection:
    # The name in the certificate is checked by _open: ldap3's own check leaves the connection open.
    tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=ca_file, valid_names=["*"])
    target = ldap3.Server(
        server.host,
        port=server.port,
        use_ssl=server.use_tls_at_once,
        tls=tls,
        get_info=ldap3.NONE,
        connect_timeout=connect_timeout_s,
    )
    return ldap3.Connection(
        target, user=userdn, password=password, receive_timeout=max(1, int(answer_timeout_s))
    )


def _open(connection: ldap3.Connection, server: LdapServer) -> None:
    connection.open(read_server_info=False)
    if not server.use_tls_at_once:
        connection.start_tls(read_server_info=False)
    # From Python 3.12 on ldap3's check compares an address with names of DNS only.
    if not names_address(connection.socket.getpeercert(), server.host):
        check_hostname(connection.socket, server.host, None)


def names_address(certificate: Mapping[str, Any], host: str) -> bool:
    """Return whether a certificate is for an IP address.

    Args:
        certificate: As returned by `ssl.SSLSocket.getpeercert`.

    Returns:
        False if `host` is a name.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    named = (value for kind, value in certificate.get("subjectAltName", ()) if kind == "IP Address")
    return any(ipaddress.ip_address(value.strip()) == address for value in named)


def close(connection: ldap3.Connection) -> None:
    """Close a connection made by `bind`, whatever state it is in."""
    with contextlib.suppress(LDAPExceptionError, OSError):
        connection.unbind()
    # After a failed start ldap3 forgets to close the socket.
    if connection.socket is not None:
        connection.socket.close()


def _is_untrusted(error: BaseException) -> bool:
    # ldap3 raises an error of its own, of which only the text still tells what ssl said.
    text = str(error).lower()
    return "certificate" in text or isinstance(error, ssl.CertificateError)
