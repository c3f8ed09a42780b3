"""The guides of the documentation as pages of the hub: Markdown in, HTML out."""

import functools
import posixpath
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Links to the documentation's own files, so that there is one text.
GUIDES_DIR = Path(__file__).parents[1] / "guides"
# The page of the plain address; it lists the others.
FRONT = "index"
_USE = "use"
# Pages from other parts of the documentation, and the group that lists those of each part.
_ELSEWHERE = {
    "reasons": "reference",
    "reasons-limits": "reference",
    "reasons-ended": "reference",
    "reasons-refused": "reference",
    "day-to-day": "operate",
}
_GROUPS = {"reference": "Reference", "operate": "For administrators"}
_GROUP = re.compile(
    r"^\*\*(?P<group>[^*]+)\*\*$|^\* \[(?P<title>[^]]+)\]\((?P<page>[\w-]+)\.md\)", re.M
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
# Stands for the site's own address.
_EXAMPLE_URL = "https://portal.example.com"
_LISTED_LEVELS = (2, 3)

_ACCESSIBLE = {
    # What is too wide is moved inside its own box, with the keyboard, too.
    "<table>": '<div class="portal-scroll" tabindex="0"><table>',
    "</table>": "</table></div>",
    "<pre>": '<pre tabindex="0">',
    # Markdown has no table without a head.
    "<th></th>": "<td></td>",
}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in the list of contents.

    Attributes:
        level: 2 for the parts of a page, 3 for theirs.
        anchor: Its id on the page.
    """

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Guide:
    """A guide to show.

    Attributes:
        html: Everything below the title.
        headings: In the order of the page, without the title.
    """

    title: str
    html: str
    headings: tuple[Heading, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Guides under one title of the front page.

    Attributes:
        pages: Name and title of each.
    """

    title: str
    pages: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a guide, as a search finds it.

    Attributes:
        name: Of the guide.
        title: Of the guide.
        heading: Of the part; empty for the text below the title.
        anchor: Of the part; empty for the text below the title.
        text: Its words, without Markdown.
    """

    name: str
    title: str
    heading: str
    anchor: str
    text: str


@functools.cache
def guide_groups() -> tuple[Group, ...]:
    """Return what the front page lists, in its order."""
    groups: list[Group] = []
    for match in _GROUP.finditer(_text(FRONT)):
        if match["group"]:
            groups.append(Group(match["group"], ()))
        else:
            pages = (*groups[-1].pages, (match["page"], match["title"]))
            groups[-1] = replace(groups[-1], pages=pages)
    for folder, title in _GROUPS.items():
        names = [name for name in _ELSEWHERE if _ELSEWHERE[name] == folder]
        groups.append(Group(title, tuple((name, read_guide(name, "").title) for name in names)))
    return tuple(groups)


@functools.cache
def guide_names() -> tuple[str, ...]:
    """Return the names of all guides; the front page is the first."""
    return (FRONT, *sorted(page.stem for page in _pages() if page.stem != FRONT))


def _pages() -> Iterator[Path]:
    yield from (GUIDES_DIR / _USE).glob("*.md")
    yield from (_path(name) for name in _ELSEWHERE)


def _path(name: str) -> Path:
    return GUIDES_DIR / _ELSEWHERE.get(name, _USE) / f"{name}.md"


def _text(name: str) -> str:
    # The list for Sphinx, at the end of the front page, is not for readers.
    return _path(name).read_text(encoding="utf-8").partition("\n```{toctree}")[0]


@functools.cache
def search_parts() -> tuple[Part, ...]:
    """Return all parts of all guides, for a search in the browser."""
    return tuple(part for name in guide_names() for part in _parts_of(name))


def _parts_of(name: str) -> Iterator[Part]:
    tokens = MarkdownIt("commonmark").enable("table").parse(_text(name))
    title = heading = anchor = ""
    headings = iter(list(_with_anchors(tokens)))
    words: list[str] = []
    for before, token in pairwise([None, *tokens]):
        if before is not None and before.type == "heading_open" and token is not None:
            if title:
                yield Part(name, title, heading, anchor, " ".join(words))
                words = []
            found = next(headings)
            title, heading, anchor = (
                (found.text, "", "") if found.level == 1 else (title, found.text, found.anchor)
            )
        elif token is not None and token.type in {"inline", "fence", "code_block"}:
            words += [child.content for child in token.children or [token] if child.content]
    yield Part(name, title, heading, anchor, " ".join(words))


@functools.cache
def read_guide(name: str, url: str, portal_url: str = "") -> Guide:
    """Return one of the guides.

    Args:
        url: Address of all guides, which ends in "/".
        portal_url: Address of the portal, for commands that users copy; empty if it is not known.
    """
    text = _text(name).replace(_EXAMPLE_URL, portal_url.rstrip("/") or _EXAMPLE_URL)
    return render(text, url, _ELSEWHERE.get(name, _USE))


def render(markdown: str, url: str, folder: str = _USE) -> Guide:
    """Return a guide's Markdown as HTML, without what HTML it has.

    Links to other guides and pictures lead below `url`; of other relative links only the words
    stay, since the portal does not serve what they lead to.

    Args:
        url: Address of all guides, which ends in "/".

    Source:
        CommonMark 0.31 with tables; anchors as on GitHub and in the site that Sphinx builds.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    headings = tuple(_with_anchors(tokens))
    title = next((heading.text for heading in headings if heading.level == 1), "")
    for token in tokens:
        token.children = list(_with_addresses(token.children or [], url, folder))
    body = [token for token in tokens if token not in _title_of(tokens)]
    html = parser.renderer.render(body, parser.options, {})
    for element, instead in _ACCESSIBLE.items():
        html = html.replace(element, instead)
    listed = tuple(heading for heading in headings if heading.level in _LISTED_LEVELS)
    return Guide(title=title, html=html, headings=listed)


def _title_of(tokens: list[Token]) -> list[Token]:
    begin = next((i for i, one in enumerate(tokens) if one.tag == "h1"), None)
    return [] if begin is None else tokens[begin : begin + 3]


def _with_anchors(tokens: list[Token]) -> Iterator[Heading]:
    """Give each heading an id; yield them in order."""
    taken: dict[str, int] = {}
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            text = "".join(child.content for child in inline.children or [])
            slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            n_before = taken.get(slug, 0)
            taken[slug] = n_before + 1
            anchor = f"{slug}-{n_before}" if n_before else slug
            token.attrSet("id", anchor)
            yield Heading(level=int(token.tag[1:]), text=text, anchor=anchor)


def _with_addresses(tokens: list[Token], url: str, folder: str) -> Iterator[Token]:
    kept: list[bool] = []
    for token in tokens:
        if token.type == "image":
            name = posixpath.normpath(f"{folder}/{token.attrGet('src')}")
            token.attrSet("src", url + name)
            token.attrSet("loading", "lazy")
            # Otherwise the text jumps away from a link's target while pictures load.
            for side, n_pixels in zip(("width", "height"), _png_size(name), strict=False):
                token.attrSet(side, str(n_pixels))
        elif token.type == "link_open":
            address = _address(str(token.attrGet("href")), url, folder)
            kept.append(address is not None)
            if address is None:
                continue
            token.attrSet("href", address)
        elif token.type == "link_close" and not kept.pop():
            continue
        yield token


def _png_size(name: str) -> tuple[int, ...]:
    """Return width and height in pixels; nothing for what is no PNG.

    Source:
        PNG specification, third edition, 11.2.1: the chunk IHDR is the first.
    """
    try:
        with (GUIDES_DIR / name).open("rb") as file:
            head = file.read(24)
    except OSError:
        return ()
    return struct.unpack(">II", head[16:24]) if head[12:16] == b"IHDR" else ()


def _address(target: str, url: str, folder: str) -> str | None:
    if target.startswith("#") or _ADDRESS.match(target):
        return target
    page, _, anchor = target.partition("#")
    path = posixpath.normpath(f"{folder}/{page}")
    name = posixpath.basename(path).removesuffix(".md")
    if path != f"{_ELSEWHERE.get(name, _USE)}/{name}.md" or name not in guide_names():
        return None
    return f"{url}{name}" + (f"#{anchor}" if anchor else "")
