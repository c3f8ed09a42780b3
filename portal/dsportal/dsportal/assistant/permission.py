"""What a tool would do is shown as it is, asked of the user, and kept in a log."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Below the home, readable by its user alone.
LOG = ".local/state/data-scientist-portal/assistant.log"
_MOST_LOG_BYTES = 4_000_000
_WIDTH = 100
# More would scroll out of sight before the question.
_MOST_LINES = 60


class RefusedError(Exception):
    """A tool does not run; the model is told why."""


@dataclass
class Permission:
    """What the user has allowed in this kernel."""

    allowed: set[str] = field(default_factory=set)

    def require(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Ask the user unless the tool is allowed, and show its `arguments` by their names.

        Raises:
            RefusedError: If the user, who may be away, does not say yes, or could not see it all.
        """
        lines = show(arguments)
        if len(lines) > _MOST_LINES:
            raise RefusedError(f"This is more than {_MOST_LINES} lines. Ask for less at a time.")
        print("\n".join([f"\n[The assistant asks for {tool}]", *lines]), flush=True)
        if tool in self.allowed:
            note(tool, arguments, "allowed before")
            return
        try:
            said = input(f"Allow {tool} this once? y or n: ").strip().lower()
        # ipykernel's StdinNotImplementedError is one: nobody is there, as in a job.
        except (EOFError, RuntimeError):
            said = "nobody was there"
        note(tool, arguments, said)
        if said not in {"y", "yes"}:
            raise RefusedError("The user did not allow this. Ask what to do instead.")


def show(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return the arguments as lines in which nothing is hidden: long ones are broken, not cut."""
    lines = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        foreign = "" if text.isascii() else " (not only ASCII: letters may look like others)"
        lines.append(f"  {name}:{foreign}")
        for line in text.split("\n"):
            escaped = visible(line)
            pieces = [escaped[n : n + _WIDTH] for n in range(0, len(escaped), _WIDTH)] or [""]
            lines += [f"    {'|' if n == 0 else '+'} {piece}" for n, piece in enumerate(pieces)]
    return lines


def visible(text: str) -> str:
    """Return a text in which what is not printed, such as a turn of its direction, is a number."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def note(tool: str, arguments: Mapping[str, Any], became: str) -> None:
    """Write a line into the log: a tool, its `arguments` by their names, and what `became` of it.

    Raises:
        RefusedError: If that fails: nothing is to happen without it.
    """
    path = Path.home() / LOG
    told = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "job": os.environ.get("SLURM_JOB_ID", ""),
        "tool": tool,
        "arguments": arguments,
        "became": became,
    }
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > _MOST_LOG_BYTES:
            path.replace(path.with_name(f"{path.name}.1"))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        with open(os.open(path, flags, 0o600), "a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
    except OSError as error:
        raise RefusedError(f"The log {path} cannot be written: {error.strerror}.") from error
