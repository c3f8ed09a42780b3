"""The notebook server on the node: it takes a port, keeps it, tells the hub, then serves.

Runs in the server environment as the batch script's own process, so that a signal to the job is
a signal to the server.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import random
import signal
import socket
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

PORT_PATH = "dsportal/port"
# A hub restart takes seconds; an upgrade of it some minutes.
REPORT_TIMEOUT_S = 600.0
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 10.0
_ANSWER_TIMEOUT_S = 10.0
# The hub has no use for this server any more: the session was stopped, or never was.
_FINAL_STATUSES = frozenset({400, 401, 403, 404, 409})

log = logging.getLogger("dsportal")


class ReportError(Exception):
    """The hub does not take this server."""


def main() -> None:
    """Serve one session until it is stopped."""
    _log_to_stderr()
    # The warning of --signal may come before the server listens to it; by default it would kill.
    signal.signal(signal.SIGUSR1, lambda *_: log.info("The time limit is near"))
    environment = os.environ
    address = find_address(environment)
    sock = bind_port(
        address,
        int(environment.get("PORTAL_PORT_MIN", "1024")),
        int(environment.get("PORTAL_PORT_MAX", "65535")),
    )
    port = sock.getsockname()[1]
    log.info("Listening on %s port %d", address, port)
    environment["JUPYTERHUB_SERVICE_URL"] = service_url(environment, address, port)
    reporter = Reporter(environment, port)
    reporter.start()
    # Loading takes longer than the report, so both go on at once. The hub may connect at any
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
        environment: PORTAL_NODE_ADDRESS decides where it is set, for example by the prologue of a
            site whose nodes have several networks; else JUPYTERHUB_API_URL is to be reached.

    Returns:
        An IPv4 or IPv6 address of this node.

    Raises:
        OSError: If there is no way to the hub.
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


def bind_port(address: str, port_min: int, port_max: int) -> socket.socket:
    """Take a free port and listen on it.

    Args:
        address: The only address to listen on.
        port_min: Lowest port.
        port_max: Highest port.

    Returns:
        The listening socket. It is never closed before the server uses it.

    Raises:
        OSError: If no port of the range is free.
    """
    ports = list(range(port_min, port_max + 1))
    random.shuffle(ports)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in ports:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address, port))
            sock.listen(128)
        except OSError as error:
            sock.close()
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
            continue
        sock.setblocking(False)
        return sock
    raise OSError(f"No port from {port_min} to {port_max} is free on {address}")


def service_url(environment: Mapping[str, str], address: str, port: int) -> str:
    """Return where this server is, in the form that jupyterhub-singleuser reads.

    Args:
        environment: Holds JUPYTERHUB_SERVICE_URL with the scheme and path from the hub.
        address: Address of this node.
        port: Port that is listened on.

    Returns:
        The URL.
    """
    url = urlsplit(environment["JUPYTERHUB_SERVICE_URL"])
    host = f"[{address}]" if ":" in address else address
    return url._replace(netloc=f"{host}:{port}").geturl()


class Reporter:
    """Tells the hub the port, again and again while the hub does not answer.

    Args:
        environment: JUPYTERHUB_API_URL, JUPYTERHUB_API_TOKEN and, with internal TLS, the paths
            JUPYTERHUB_SSL_KEYFILE, JUPYTERHUB_SSL_CERTFILE and JUPYTERHUB_SSL_CLIENT_CA.
        port: The port.
        timeout_s: Seconds after which it gives up.
        clock: Seconds that only grow.
        pause: Sleeps for some seconds.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        port: int,
        *,
        timeout_s: float = REPORT_TIMEOUT_S,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._request = urllib.request.Request(  # noqa: S310
            f"{environment['JUPYTERHUB_API_URL'].rstrip('/')}/{PORT_PATH}",
            data=json.dumps({"port": port}).encode(),
            headers={
                "Authorization": f"token {environment['JUPYTERHUB_API_TOKEN']}",
                "Content-Type": "application/json",
            },
            method="POST",
        )
        self._opener = _make_opener(environment)
        self._timeout_s = timeout_s
        self._clock = clock
        self._pause = pause
        self._error: ReportError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin, beside whatever else goes on."""
        self._thread.start()

    def wait(self) -> None:
        """Return when the hub has taken the port.

        Raises:
            ReportError: If the hub refused it, or did not answer in all that time.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self.report()
        except ReportError as error:
            self._error = error

    def report(self) -> None:
        """Tell the hub, until it answers.

        Raises:
            ReportError: If the hub refused the port, or did not answer in all that time.
        """
        give_up_at = self._clock() + self._timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                with self._opener.open(self._request, timeout=_ANSWER_TIMEOUT_S):
                    log.info("The hub knows the port")
                    return
            except urllib.error.HTTPError as error:
                problem = f"{error.code} {error.reason}"
                error.close()
                if error.code in _FINAL_STATUSES:
                    raise ReportError(
                        f"The hub does not take this server: {problem}. The job ends; "
                        "start a new session."
                    ) from error
            except OSError as error:
                problem = str(error)
            if self._clock() >= give_up_at:
                raise ReportError(
                    f"The hub did not take the port in {self._timeout_s:.0f} s: {problem}. "
                    "The job ends; start a new session when the hub is back."
                )
            log.warning("The hub did not take the port yet: %s", problem)
            self._pause(pause_s * random.uniform(0.75, 1.25))  # noqa: S311
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)


def _make_opener(environment: Mapping[str, str]) -> urllib.request.OpenerDirector:
    # The hub is on the cluster's own network, so no proxy of the environment is asked.
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if environment.get("JUPYTERHUB_SSL_CERTFILE"):
        context = ssl.create_default_context(cafile=environment.get("JUPYTERHUB_SSL_CLIENT_CA"))
        # As JupyterHub itself does: only the hub has a certificate of this authority.
        context.check_hostname = False
        context.load_cert_chain(
            environment["JUPYTERHUB_SSL_CERTFILE"], environment.get("JUPYTERHUB_SSL_KEYFILE")
        )
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)


def _log_to_stderr() -> None:
    # Not for the root logger: libraries that the server loads would talk through it.
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[%(levelname).1s %(asctime)s dsportal] %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


def prepare_server(sock: socket.socket) -> Callable[[], None]:
    """Load the notebook server so that it will serve on a socket that is open already.

    Args:
        sock: The listening socket.

    Returns:
        Starts the server; comes back when it has stopped and its kernels have ended.
    """
    from jupyter_server.serverapp import ServerApp
    from jupyterhub.singleuser.extension import JupyterHubSingleUser
    from traitlets.config import Config

    class SessionServer(ServerApp):
        """A notebook server on a given socket."""

        def _find_http_port(self) -> None:
            """Keep the port that is taken."""

        def _bind_http_server_tcp(self) -> bool:
            self.http_server.add_socket(sock)
            return True

        def init_configurables(self) -> None:
            self.update_config(Config(SERVER_CONFIG))
            super().init_configurables()

    JupyterHubSingleUser.serverapp_class = SessionServer
    return lambda: JupyterHubSingleUser.launch_instance(sys.argv[1:])


# Slurm kills what is left of a job KillWait seconds after TERM, so kernels get less than that.
SERVER_CONFIG: MutableMapping[str, Any] = {
    "KernelManager": {"shutdown_wait_time": 2.0},
    "ServerApp": {
        # Looking for a newer build at each start costs seconds.
        "tornado_settings": {"page_config_data": {"buildCheck": False, "buildAvailable": False}},
    },
}


if __name__ == "__main__":
    main()
