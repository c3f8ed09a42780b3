"""The ranks' client of the run's store."""

import hashlib
import http.client
import time
from http import HTTPStatus
from urllib.parse import quote

from dsportal.errors import StepError

_REQUEST_TIMEOUT_S = 30
_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.05


class StoreClient:
    """Client of one scope of a run's store.

    Args:
        address: Host, port and secret, as in `Store.horovod_address`: "10.0.0.1:4242/SECRET".
    """

    def __init__(self, address: str, scope: str) -> None:
        self._host, _, self._secret = address.partition("/")
        self._scope = scope

    @property
    def token(self) -> bytes:
        """32 bytes that only ranks of the run can know, and that do not reveal its secret."""
        return hashlib.sha256(f"{self._scope} {self._secret}".encode()).digest()

    def put(self, key: str, value: bytes) -> None:
        """Store a value of at most 1 MiB."""
        self._ask("PUT", key, value)

    def get(self, key: str) -> bytes | None:
        """Return a value, or None until a rank has put it."""
        return self._ask("GET", key)

    def wait(self, key: str, timeout_s: float) -> bytes:
        """Return a value as soon as a rank has put it.

        Raises:
            TimeoutError: If no rank has put it in time.
        """
        give_up_at = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while (value := self.get(key)) is None:
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"No rank has put {key} within {timeout_s:g} s.")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return value

    def add(self, key: str, amount: int) -> int:
        """Return the sum after adding `amount` to a number, which is 0 at first."""
        return int(self._ask("POST", key, str(amount).encode()) or b"0")

    def _ask(self, method: str, key: str, body: bytes | None = None) -> bytes | None:
        # The store speaks HTTP/1.0, so a connection serves one request.
        connection = http.client.HTTPConnection(self._host, timeout=_REQUEST_TIMEOUT_S)
        try:
            # The store refuses an empty key.
            path = f"/{self._secret}/{self._scope}/{quote(key, safe='') or '-'}"
            connection.request(method, path, body)
            answer = connection.getresponse()
            content = answer.read()
        except OSError as error:
            raise StepError(
                f"The rendezvous of the run at {self._host} is not responding ({error}). If the "
                "run continues, ask the administrators whether nodes may speak to each other."
            ) from error
        finally:
            connection.close()
        # Not there yet: the caller may ask again.
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        if answer.status != HTTPStatus.OK:
            raise StepError(
                f"The rendezvous of the run refused {key} ({answer.status}). Start the run again."
            )
        return content
