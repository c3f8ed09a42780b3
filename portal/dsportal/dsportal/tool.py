"""A tool that a language model or an agent calls, and the text that it reads of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
}
# More would fill what an agent can read at once.
MOST_CHARACTERS = 20_000


@dataclass(frozen=True)
class Tool:
    """What may be called.

    Attributes:
        run: Takes the arguments by name.
        arguments: JSON Schema's type and the help of each.
    """

    name: str
    text: str
    run: Callable[..., str]
    arguments: Mapping[str, tuple[str, str]]
    required: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema of the arguments."""
        properties = {
            name: {"type": kind, "description": text}
            for name, (kind, text) in self.arguments.items()
        }
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def refusal(self, arguments: object) -> str:
        """Return why it takes no such `arguments`, or ""."""
        if not isinstance(arguments, dict):
            return "The arguments have to be an object of JSON."
        if arguments.keys() - self.arguments.keys() or set(self.required) - arguments.keys():
            takes, needs = ", ".join(self.arguments) or "no arguments", ", ".join(self.required)
            return f"{self.name} takes {takes}{f', and needs {needs}' if needs else ''}."
        for name, value in arguments.items():
            kind = self.arguments[name][0]
            if not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
                return f"{name} has to be of the type {kind}."
        return ""


class Excerpt:
    """A text of any length, of which the beginning and the end are kept."""

    def __init__(self, text: str = "") -> None:
        self._head = self._tail = ""
        self._n = 0
        self.add(text)

    def add(self, text: str) -> None:
        """Add what comes next."""
        self._n += len(text)
        room = MOST_CHARACTERS // 2 - len(self._head)
        self._head += text[:room]
        self._tail = (self._tail + text[room:])[-MOST_CHARACTERS // 2 :]

    def __str__(self) -> str:
        """Return it, and what is left out of its middle."""
        n_left_out = self._n - len(self._head) - len(self._tail)
        left_out = f"\n[{n_left_out} characters are left out]\n" if n_left_out else ""
        return f"{self._head}{left_out}{self._tail}"
