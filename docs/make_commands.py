"""Write the pages of commands in docs/reference, and the man page of the command of laptops.

All is in the command's own words.

python docs/make_commands.py
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS_DIR = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS_DIR.parent / "portal/dsportal"))
sys.path.insert(0, str(DOCS_DIR.parent))

from dsportal.laptop.cli import build_parser as build_laptop_parser  # noqa: E402
from portal.cli import build_parser, build_user_parser  # noqa: E402

FOLDER = DOCS_DIR / "reference"
BAR = "\\|"
MAN_PAGE = DOCS_DIR.parent / "portal/dsportal/dsportal.1"
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
LAPTOP = f"""\
# The command dsportal on your own machine

On your own machine `dsportal` has these commands: [how to get it](../use/scripts.md).
{_MADE}
"""


def pages() -> dict[str, str]:
    """Return the Markdown text of each page, by its name."""
    users = commands(build_user_parser())
    rest = {name: text for name, text in commands(build_parser()).items() if name not in users}
    return {
        "commands": "\n".join([USERS, *users.values()]),
        "commands-admin": "\n".join([ADMINISTRATORS, *rest.values()]),
        "commands-laptop": "\n".join([LAPTOP, *commands(build_laptop_parser()).values()]),
    }


def commands(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the section of each command that can be run, by its full name."""
    found = each_command(parser, parser.prog, "")
    return {name: section(command, name, summary) for name, command, summary in found}


def each_command(
    parser: argparse.ArgumentParser, name: str, summary: str
) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Yield full name, parser and summary of a command, or of those below it."""
    groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not groups:
        yield name, parser, summary
    for group in groups:
        summaries = {choice.dest: choice.help or "" for choice in group._choices_actions}
        for word, child in group.choices.items():
            yield from each_command(child, f"{name} {word}", summaries.get(word, ""))


def section(parser: argparse.ArgumentParser, name: str, summary: str) -> str:
    """Return the part about one command: what it does, and a table of its arguments."""
    found = [[f"`{one}`", meaning] for one, meaning in arguments(parser)]
    # A bar would begin another column.
    rows = [f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |" for cells in found]
    text = (parser.description or summary).replace("%%", "%")
    lines = [f"## {name}", "", f"{text[:1].upper()}{text[1:].rstrip('.')}.", ""]
    lines += ["| argument | meaning |", "|---|---|", *rows, ""] if rows else []
    return "\n".join(lines)


def man_page(parser: argparse.ArgumentParser) -> str:
    """Return the man page of a command.

    Source:
        man-pages(7).
    """
    lines = [
        f'.TH {parser.prog.upper()} 1 "" "Data Scientist Portal"',
        ".SH NAME",
        f"{parser.prog} \\- {parser.description}",
        ".SH SYNOPSIS",
        f".B {parser.prog}",
        ".I COMMAND",
        ".SH COMMANDS",
    ]
    for name, command, _ in each_command(parser, parser.prog, ""):
        lines += [f".SS {name}", f"{command.description}."]
        for shown, meaning in arguments(command):
            lines += [".TP", f".B {shown}", meaning]
    text = "\n".join([*lines, ".SH EXIT STATUS", str(parser.epilog)]) + "\n"
    # A hyphen alone would be set as a dash.
    return text.replace("--", "\\-\\-").replace(".B -", ".B \\-")


def arguments(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield each argument of a command, and its meaning."""
    # Not argparse's own help: its form differs between releases of Python.
    for action in parser._actions:
        if action.dest != "help":
            yield argument(parser, action)


def argument(parser: argparse.ArgumentParser, action: argparse.Action) -> tuple[str, str]:
    """Return one argument as it is written, and its meaning."""
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    if action.choices:
        value = "|".join(str(choice) for choice in action.choices)
    words = " ".join(value) if isinstance(value, tuple) else str(value)
    if action.nargs in ("+", "*"):
        words += " ..."
    names = ", ".join(action.option_strings)
    shown = " ".join(part for part in (names, words if action.nargs != 0 else "") if part)
    return shown, parser._get_formatter()._expand_help(action) if action.help else ""


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / f"{name}.md").write_text(text)
    MAN_PAGE.write_text(man_page(build_laptop_parser()))
