"""Links and commands in the guides lead to what is there."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from portal.cli import build_parser

CHECKOUT = Path(__file__).parents[3]
GUIDES = sorted(
    [*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/*.md"), CHECKOUT / "notebook_templates/README.md"]
)
LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
# A line of a block, also with a version's folder before it; in a sentence only one with an option,
# since `dsportal switch` there is just a name.
COMMAND = re.compile(
    r"^(?: {4}\S*)?dsportal (?!ALL=)(\S.*?)(?:\s+#.*)?$|`dsportal ([^`]* --[^`]*)`", re.M
)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def commands(text: str) -> list[list[str]]:
    """The arguments of each whole `dsportal` command of a page."""
    found = ["".join(match).rstrip() for match in COMMAND.findall(text)]
    return [
        shlex.split(command)
        for command in found
        # "dsportal environments add NAME --site ..." shows only a part.
        if "..." not in command
    ]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for name, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / name if name else page
        if not target.exists() or (
            anchor and anchor not in anchors(target.read_text(encoding="utf-8"))
        ):
            broken.append(f"{name}#{anchor}" if anchor else name)

    assert broken == []


@pytest.mark.parametrize("page", ["users.md", "administrators.md"])
def test_every_command_has_the_options_that_the_guide_gives_it(page: str) -> None:
    found = commands((CHECKOUT / "docs" / page).read_text(encoding="utf-8"))
    refused = []
    for arguments in found:
        try:
            build_parser().parse_args(arguments)
        except (SystemExit, argparse.ArgumentError):
            refused.append(shlex.join(arguments))

    assert len(found) > 5
    assert refused == []
