"""The key in the addresses of programs on ports."""

from types import SimpleNamespace
from typing import Any, cast

from portal.server.base.forwarding import ForwardingHandler
from portal.server.ports.key import VARIABLE, PortKey


class Stream:
    """A connection to a browser."""

    is_closed = False

    def close(self) -> None:
        """Close it."""
        self.is_closed = True


class Handler(ForwardingHandler):
    """A request that had the key, and whose websocket goes on if `is_detached`."""

    def __init__(self, *, is_detached: bool, is_finished: bool = False) -> None:
        self.stream = Stream()
        self.detached = cast("Any", self.stream if is_detached else None)
        self._finished = is_finished or is_detached
        connection = SimpleNamespace(stream=None if is_detached else self.stream)
        self.request = cast("Any", SimpleNamespace(connection=connection))


def test_programs_are_told_their_path() -> None:
    environ: dict[str, str] = {}
    key = PortKey("/user/ada/", environ)
    assert environ == {VARIABLE: f"/user/ada/port/{key.text}/"}
    assert len(key.text) == 32


def test_a_new_key_ends_the_old_one_and_what_goes_on_with_it() -> None:
    environ: dict[str, str] = {}
    key = PortKey("/user/ada/", environ)
    old = key.text
    websocket, answer = Handler(is_detached=True), Handler(is_detached=False)
    over = Handler(is_detached=False, is_finished=True)
    for handler in (websocket, answer, over):
        key.users.add(handler)
    key.renew()
    assert not key.fits(old)
    assert key.fits(key.text)
    assert environ[VARIABLE] == key.prefix == f"/user/ada/port/{key.text}/"
    assert [one.stream.is_closed for one in (websocket, answer, over)] == [True, True, False]
