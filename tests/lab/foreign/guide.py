"""What the guide for administrators tells to do: its fenced blocks that say how they are meant.

A block ```sh run``` holds commands, one a line. A block ```toml edit=PATH``` or
```nginx edit=PATH``` shows the lines of a file that an administrator sets in an editor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES = ("install/cluster.md", "install/tls.md", "operate/backup.md", "install/uninstall.md")
BLOCK = re.compile(
    r"^```(?P<language>sh|toml|nginx) (?P<use>run|edit=(?P<path>\S+))\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# What tests/lab/foreign/test_site.py follows, in this order.
SECTIONS = (
    "Install",
    "Settings",
    "Start",
    "TLS",
    "Look at everything",
    "Later changes",
    "Backup",
    "Uninstall",
)
TABLE = re.compile(r"^\[([^\]]+)\]$")
# A table of the commented example that is no setting but shows what one could look like.
PARTITION = "partitions."


@dataclass(frozen=True, kw_only=True)
class Step:
    """One block of the guide.

    Args:
        path: File to be edited; empty for commands.
    """

    section: str
    language: str
    path: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The commands, with lines that end in a backslash joined."""
        joined = self.text.replace("\\\n", " ")
        return [line for line in joined.splitlines() if line.strip() and line[0] != "#"]


def read_guide() -> str:
    """Return the pages that tests/lab/foreign/test_site.py follows."""
    return "".join((DOCS / page).read_text(encoding="utf-8") for page in PAGES)


def steps_of(guide: str, values: Mapping[str, str]) -> list[Step]:
    """Return the blocks in their order, with a site's values in place of the guide's."""
    return [
        Step(
            section=re.findall(r"^#+ (.*)$", guide[: match.start()], re.MULTILINE)[-1],
            language=match["language"],
            path=match["path"] or "",
            text=with_values(match["text"], values),
        )
        for match in BLOCK.finditer(guide)
    ]


def with_values(text: str, values: Mapping[str, str]) -> str:
    """Return a text with a site's values; the longest of the guide's words count first."""
    words = sorted(values, key=len, reverse=True)
    pattern = r"(?<![\w.-])(?:" + "|".join(re.escape(word) for word in words) + r")(?![\w-])"
    return re.sub(pattern, lambda match: values[match[0]], text)


def edited(text: str, step: Step) -> str:
    """Return a file as an administrator leaves it who sets what the guide shows."""
    return {"toml": _edited_toml, "nginx": _edited_nginx}[step.language](text, step.text)


def _edited_toml(text: str, wanted: str) -> str:
    tables = {name: lines for name, lines in _tables(wanted) if name}
    has_partitions = any(name.startswith(PARTITION) for name in tables)
    done: list[str] = []
    for name, lines in _tables(text):
        if has_partitions and name.startswith(PARTITION) and name not in tables:
            # Partitions of the example are not those of the site.
            continue
        done += _with_keys(lines, tables.pop(name, []))
    for lines in tables.values():
        done += ["", *lines]
    return "\n".join(done) + "\n"


def _tables(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        if match := TABLE.match(line):
            found.append((match[1], []))
        found[-1][1].append(line)
    return found


def _with_keys(lines: list[str], wanted: list[str]) -> list[str]:
    done = list(lines)
    for line in wanted[1:]:
        key, is_setting, _ = line.partition(" = ")
        if not is_setting:
            continue
        # A line in force first, else the commented default.
        places = [
            i
            for form in (f"{key} = ", f"# {key} = ")
            for i, one in enumerate(done)
            if one.startswith(form)
        ]
        if places:
            done[places[0]] = line
        else:
            done.insert(1, line)
    return done


def _edited_nginx(text: str, wanted: str) -> str:
    for line in wanted.strip().splitlines():
        directive = line.split()[0]
        text, n_set = re.subn(
            rf"^( *){re.escape(directive)}\s.*$", rf"\g<1>{line.strip()}", text, flags=re.M
        )
        if not n_set:
            raise ValueError(f"there is no line {directive} to be set")
    return text
