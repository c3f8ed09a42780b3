"""Reports a server's port to the hub, with retries while the hub does not answer."""

import json
import logging
import random
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping

PORT_PATH = "dsportal/port"
END_PATH = "dsportal/session?because=exit"
# A hub restart takes seconds; an upgrade of it some minutes.
REPORT_TIMEOUT_S = 600.0
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 10.0
_ANSWER_TIMEOUT_S = 10.0
# The kernels need most of the seconds that Slurm gives a job to end.
_GOODBYE_TIMEOUT_S = 2.0
# The hub no longer wants this server: the session was stopped, or never existed.
_FINAL_STATUSES = frozenset({400, 401, 403, 404, 409})

log = logging.getLogger("dsportal")


class ReportError(Exception):
    """The hub refused this server or did not answer."""


class PortReporter:
    """Reports the port in a thread, with retries while the hub does not answer.

    Args:
        environment: JUPYTERHUB_API_URL, JUPYTERHUB_API_TOKEN and, with internal TLS, the paths
            JUPYTERHUB_SSL_KEYFILE, JUPYTERHUB_SSL_CERTFILE and JUPYTERHUB_SSL_CLIENT_CA.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        port: int,
        *,
        certificate: str = "",
        timeout_s: float = REPORT_TIMEOUT_S,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        report = {"port": port, **({"certificate": certificate} if certificate else {})}
        self._request = urllib.request.Request(  # noqa: S310
            f"{environment['JUPYTERHUB_API_URL'].rstrip('/')}/{PORT_PATH}",
            data=json.dumps(report).encode(),
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
        # A server that is told to end must not wait for a hub that does not answer.
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start to report, in a thread."""
        self._thread.start()

    def wait(self) -> None:
        """Wait until the hub has accepted the port.

        Raises:
            ReportError: If the hub refused it, or did not answer in time.
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
        """Report until the hub answers.

        Raises:
            ReportError: If the hub refused the port, or did not answer in time.
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
                        f"The hub does not take this server: {problem}. The job ends. Start a new "
                        "session."
                    ) from error
            except OSError as error:
                problem = str(error)
            if self._clock() >= give_up_at:
                raise ReportError(
                    f"The hub did not take the port in {self._timeout_s:.0f} s: {problem}. "
                    "The job ends. Start a new session when the hub is back."
                )
            log.warning("The hub did not take the port yet: %s", problem)
            # Jitter: after a restart of the hub many servers report at once.
            self._pause(pause_s * random.uniform(0.75, 1.25))  # noqa: S311
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)


def report_stop(environment: Mapping[str, str]) -> None:
    """Tell the hub that this server ends, so that nothing more is sent to its port.

    A hub that does not answer finds out by itself.

    Args:
        environment: As for `PortReporter`.
    """
    request = urllib.request.Request(  # noqa: S310
        f"{environment['JUPYTERHUB_API_URL'].rstrip('/')}/{END_PATH}",
        headers={"Authorization": f"token {environment['JUPYTERHUB_API_TOKEN']}"},
        method="DELETE",
    )
    try:
        _make_opener(environment).open(request, timeout=_GOODBYE_TIMEOUT_S).close()
    except OSError as error:
        log.info("The hub was not told of the end: %s", error)


def _make_opener(environment: Mapping[str, str]) -> urllib.request.OpenerDirector:
    # The hub is on the cluster's own network, so proxy settings of the environment do not apply.
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if context := tls_context(environment):
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)


def tls_context(environment: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the session's end of its connections to the hub; None where they have no TLS."""
    if not environment.get("JUPYTERHUB_SSL_CERTFILE"):
        return None
    context = ssl.create_default_context(cafile=environment.get("JUPYTERHUB_SSL_CLIENT_CA"))
    # As JupyterHub itself does: only the hub has a certificate of this authority.
    context.check_hostname = False
    context.load_cert_chain(
        environment["JUPYTERHUB_SSL_CERTFILE"], environment.get("JUPYTERHUB_SSL_KEYFILE")
    )
    return context
