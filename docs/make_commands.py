"""Write the pages of commands in docs/reference: `dsportal` in the command's own words.

python docs/make_commands.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS_DIR = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS_DIR.parent / "portal/dsportal"))
sys.path.insert(0, str(DOCS_DIR.parent))

from portal.cli import build_parser, build_user_parser  # noqa: E402

FOLDER = DOCS_DIR / "reference"
_MADE = "`docs/make_commands.py` makes this page. Do not edit it by hand."
USERS = f"""\
# The command dsportal

In a session `dsportal` has the commands of this page. On the portal's host it also has [those for
administrators](commands-admin.md).
{_MADE}
"""
ADMINISTRATORS = f"""\
# The command dsportal for administrators

On the portal's host `dsportal` has these commands, and [those for users](commands.md).
{_MADE}
"""


def pages() -> dict[str, str]:
    """Return the Markdown text of each page, by its name."""
    users = commands(build_user_parser())
    rest = {name: text for name, text in commands(build_parser()).items() if name not in users}
    return {
        "commands": "\n".join([USERS, *users.values()]),
        "commands-admin": "\n".join([ADMINISTRATORS, *rest.values()]),
    }


def commands(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the section of each command that can be run, by its full name."""
    return dict(sections(parser, parser.prog, ""))


def sections(parser: argparse.ArgumentParser, name: str, summary: str) -> Iterator[tuple[str, str]]:
    """Yield names and sections of a command, or of those below it."""
    groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not groups:
        yield name, section(parser, name, summary)
    for group in groups:
        summaries = {choice.dest: choice.help or "" for choice in group._choices_actions}
        for word, child in group.choices.items():
            yield from sections(child, f"{name} {word}", summaries.get(word, ""))


def section(parser: argparse.ArgumentParser, name: str, summary: str) -> str:
    """Return the part about one command: what it does, and a table of its arguments."""
    # Not argparse's own help: its form differs between releases of Python.
    rows = [row(parser, action) for action in parser._actions if action.dest != "help"]
    text = (parser.description or summary).replace("%%", "%")
    lines = [f"## {name}", "", f"{text[:1].upper()}{text[1:].rstrip('.')}.", ""]
    lines += ["| argument | meaning |", "|---|---|", *rows, ""] if rows else []
    return "\n".join(lines)


def row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the row of one argument."""
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    if action.choices:
        value = "|".join(str(choice) for choice in action.choices)
    words = " ".join(value) if isinstance(value, tuple) else str(value)
    if action.nargs in ("+", "*"):
        words += " ..."
    names = ", ".join(action.option_strings)
    shown = " ".join(part for part in (names, words if action.nargs != 0 else "") if part)
    meaning = parser._get_formatter()._expand_help(action) if action.help else ""
    # A bar would begin another column.
    cells = (text.replace("|", "\\|") for text in (f"`{shown}`", meaning))
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / f"{name}.md").write_text(text)
