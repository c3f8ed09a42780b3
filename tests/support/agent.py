"""An agent's side of the Model Context Protocol on standard input and output, from its
specification."""

import json
import re
from collections.abc import Callable
from typing import Any

MARKED = re.compile(r"Data of .* up to the next line with ([0-9a-f]{16}):\n(.*)\n\1", re.DOTALL)


class Agent:
    """Asks one thing after the other.

    Args:
        send: Takes a line.
        receive: Returns the next line.
    """

    def __init__(self, send: Callable[[str], object], receive: Callable[[], str]) -> None:
        self._send = send
        self._receive = receive
        self._n_asked = 0

    def begin(self, version: str = "2025-11-25") -> dict[str, Any]:
        """Shake hands, and return what the server says of itself."""
        client = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        told = self.ask("initialize", protocolVersion=version, **client)["result"]
        self.tell("notifications/initialized")
        return dict(told)

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: object) -> None:
        """Send a line of JSON."""
        self._send(json.dumps(message) + "\n")

    def start(self, method: str, **params: Any) -> int:
        """Send a request, and return its number."""
        self._n_asked += 1
        self.send({"jsonrpc": "2.0", "id": self._n_asked, "method": method, "params": params})
        return self._n_asked

    def receive(self) -> dict[str, Any]:
        """Return the next message."""
        return dict(json.loads(self._receive()))

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer: the next message, since servers ask nothing."""
        number = self.start(method, **params)
        answer = self.receive()
        assert answer["id"] == number, answer
        return answer

    def call(self, tool: str, *, is_error: bool = False, **arguments: Any) -> str:
        """Call a tool and return what stands between its marks."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert result["isError"] is is_error, result
        (content,) = result["content"]
        match = MARKED.fullmatch(content["text"])
        assert match is not None, content
        return match[2]
