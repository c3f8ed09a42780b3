"""Links and commands in the guides lead to what is there."""

import argparse
import re
import shlex
from pathlib import Path

import pytest

from dsportal.laptop.cli import build_parser as build_laptop_parser
from portal.cli import build_parser, build_user_parser

CHECKOUT = Path(__file__).parents[3]
FOLDERS = ("*.md", "docs/**/*.md", "notebook_templates/README.md")
GUIDES = sorted(page for pages in FOLDERS for page in CHECKOUT.glob(pages))
LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
# A line of a block, also with a version's folder before it; in a sentence only one with an option,
# since `dsportal switch` there is just a name.
COMMAND = re.compile(
    r"^(?: {4}\S*)?dsportal (?!ALL=)(\S.*?)(?:\s+#.*)?$|`dsportal ([^`]* --[^`]*)`", re.M
)

# A file or folder of the templates, as users have them.
TEMPLATE = re.compile(r"`(?:~/)?templates/([\w./-]+)`")
# What notebooks make.
MADE_BY_NOTEBOOKS = frozenset({"tensorflow/logs"})


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def commands(text: str) -> list[list[str]]:
    """The arguments of each whole `dsportal` command of a page."""
    found = ["".join(match).rstrip() for match in COMMAND.findall(text)]
    return [
        shlex.split(command.partition(" > ")[0])
        for command in found
        # "dsportal environments add NAME --site ..." shows only a part.
        if "..." not in command
    ]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for name, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / name if name else page
        if not target.exists() or (
            anchor and anchor not in anchors(target.read_text(encoding="utf-8"))
        ):
            broken.append(f"{name}#{anchor}" if anchor else name)

    assert broken == []


def test_every_template_that_guides_and_notebooks_name_is_there() -> None:
    folder = CHECKOUT / "notebook_templates"
    pages = [*GUIDES, *folder.rglob("*.py")]
    named = {name for page in pages for name in TEMPLATE.findall(page.read_text(encoding="utf-8"))}

    assert len(named) > 20
    assert [name for name in named - MADE_BY_NOTEBOOKS if not (folder / name).exists()] == []


def test_every_page_is_in_the_list_of_its_folder() -> None:
    for index in (CHECKOUT / "docs").glob("*/index.md"):
        listed = set(re.findall(r"^\* \[[^]]+\]\(([\w-]+)\.md\): ", index.read_text(), re.M))

        assert listed == {page.stem for page in index.parent.glob("*.md")} - {"index"}


# About the user's own machine.
OF_LAPTOPS = frozenset({"scripts", "ssh"})
PARSERS = {
    "laptop": (build_laptop_parser, lambda page: page.stem in OF_LAPTOPS),
    "session": (
        build_user_parser,
        lambda page: page.parent == CHECKOUT / "docs/use" and page.stem not in OF_LAPTOPS,
    ),
    "site": (build_parser, lambda page: page.parent.name in {"install", "operate", "offer"}),
}


@pytest.mark.parametrize("place", PARSERS)
def test_every_command_has_the_options_that_the_guide_gives_it(place: str) -> None:
    build, is_about = PARSERS[place]
    pages = [page for page in GUIDES if is_about(page)]
    found = [each for page in pages for each in commands(page.read_text(encoding="utf-8"))]
    parser = build()
    refused = []
    for arguments in found:
        try:
            parser.parse_args(arguments)
        except (SystemExit, argparse.ArgumentError):
            refused.append(shlex.join(arguments))

    assert len(found) > 5
    assert refused == []
