"""The notebook server on the node: takes a port, keeps it, tells the hub, then serves.

Runs in the server environment as the batch script's own process, so that a signal to the job is
a signal to the server.
"""

import errno
import logging
import os
import random
import signal
import socket
import sys
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from spawner.certificates import AUTHORITY_VARIABLE, load_identity
from spawner.errors import SettingsError
from spawner.node.log_limit import limit_log
from spawner.node.port_report import PortReporter, ReportError
from spawner.node.session_server import prepare_server, take_socket
from spawner.session_settings import read_told
from spawner.settings.resources import ResourceSettings
from spawner.taken_ports import NEXT_STEP, TAKES_ANOTHER, describe_taken

_MIB = 1024 * 1024
log = logging.getLogger("dsportal")


def main() -> None:
    """Serve one session until it is stopped."""
    _log_to_stderr()
    # Or what programs print would be written at the end, after Slurm's own words about it.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    logging.getLogger("tornado.general").addFilter(is_worth_logging)
    try:
        resources = read_told(os.environ, ResourceSettings, "resources")
    except SettingsError as error:
        log.error("%s", error)
        sys.exit(1)
    # Before anything is loaded that may print much.
    limit_log(resources.log_mib * _MIB)
    # The warning of sbatch's --signal may come before the server handles it; by default it kills.
    signal.signal(signal.SIGUSR1, lambda *_: log.info("The time limit is near"))
    environment = os.environ
    if (taken := take_socket(environment)) is not None:
        # The hub has had the report.
        prepare_server(taken)()
        return
    address = find_address(environment)
    sock = take_port(resources, address)
    port = sock.getsockname()[1]
    log.info("Listening on %s port %d", address, port)
    certificate = load_identity(environment, address) if AUTHORITY_VARIABLE in environment else ""
    environment["JUPYTERHUB_SERVICE_URL"] = service_url(environment, address, port)
    reporter = PortReporter(environment, port, certificate=certificate)
    reporter.start()
    # Loading takes longer than the report, so both run at once. The hub may connect at any
    # time: the socket listens, and the server answers as soon as it runs.
    launch = prepare_server(sock)
    try:
        reporter.wait()
    except ReportError as error:
        log.error("%s", error)
        sys.exit(1)
    launch()


def find_address(environment: Mapping[str, str]) -> str:
    """Return the node's address on the cluster network: the one that reaches the hub.

    Args:
        environment: PORTAL_NODE_ADDRESS decides if it is set, for example by the prologue of a
            site whose nodes have several networks; else JUPYTERHUB_API_URL is to be reached.

    Returns:
        An IPv4 or IPv6 address of this node.

    Raises:
        OSError: If there is no route to the hub.
    """
    if environment.get("PORTAL_NODE_ADDRESS"):
        return environment["PORTAL_NODE_ADDRESS"]
    url = urlsplit(environment["JUPYTERHUB_API_URL"])
    port = url.port or (443 if url.scheme == "https" else 80)
    family, kind, protocol, _, target = socket.getaddrinfo(
        url.hostname, port, type=socket.SOCK_DGRAM
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        # Connecting a datagram socket sends nothing; it only looks up the route.
        probe.connect(target)
        return str(probe.getsockname()[0])


def take_port(site: ResourceSettings, address: str) -> socket.socket:
    """Return a socket that listens on `address` only, in the site's range of ports.

    The program ends if no port is free.
    """
    try:
        return bind_port(address, site.port_min, site.port_max, any_port=site.any_port)
    except PortsTakenError as error:
        log.error("%s %s", error, NEXT_STEP)
        sys.exit(1)


class PortsTakenError(OSError):
    """No port of the range is free; the text says who holds them."""


def bind_port(
    address: str, port_min: int, port_max: int, *, any_port: bool = False
) -> socket.socket:
    """Take a random free port and listen on it.

    Args:
        port_min: Lowest port.
        port_max: Highest port.

    Returns:
        The listening socket, which stays open until the server uses it: the port cannot be lost.

    Raises:
        PortsTakenError: If no port of the range is free, and no other will do.
    """
    ports = list(range(port_min, port_max + 1))
    # Servers that start on one node at the same moment would all try the first one.
    random.shuffle(ports)
    sock = _listen(address, ports)
    if sock is None:
        taken = describe_taken(address, port_min, port_max)
        # For port 0 the kernel picks a free one.
        sock = _listen(address, [0]) if any_port else None
        if sock is None:
            raise PortsTakenError(taken)
        log.warning("%s %s", taken, TAKES_ANOTHER)
    return sock


def _listen(address: str, ports: Iterable[int]) -> socket.socket | None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in ports:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            # Connections of an earlier session, which the kernel still winds down, must not block
            # its port.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address, port))
            sock.listen(128)
        except OSError as error:
            sock.close()
            # EACCES is bind(2)'s answer for a protected port; the next one may be free.
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
            continue
        sock.setblocking(False)
        return sock
    return None


def service_url(environment: Mapping[str, str], address: str, port: int) -> str:
    """Return this server's URL, in the form that jupyterhub-singleuser reads.

    Args:
        environment: Holds JUPYTERHUB_SERVICE_URL with the path from the hub, and with internal TLS
            JUPYTERHUB_SSL_CERTFILE.
    """
    url = urlsplit(environment["JUPYTERHUB_SERVICE_URL"])
    host = f"[{address}]" if ":" in address else address
    scheme = "https" if environment.get("JUPYTERHUB_SSL_CERTFILE") else url.scheme
    return url._replace(scheme=scheme, netloc=f"{host}:{port}").geturl()


def _log_to_stderr() -> None:
    # Not for the root logger: libraries that the server loads would log through it.
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[%(levelname).1s %(asctime)s dsportal] %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


def is_worth_logging(record: logging.LogRecord) -> bool:
    """Return whether a message of Tornado's tells anything about the session.

    Jupyter Server pings open tabs itself and closes one after three lost answers. Tornado reads the
    same two settings, finds the second above the first and warns in each session. There is no value
    that suits both: Jupyter Server would close healthy connections after the first late answer.

    Source:
        WebSocketMixin of Jupyter Server 2.21, WebSocketProtocol13.ping_timeout of Tornado 6.6.
    """
    return "websocket_ping_timeout" not in record.getMessage()


if __name__ == "__main__":
    main()
