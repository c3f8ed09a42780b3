"""The guides of the documentation as pages of the hub: Markdown in, HTML out."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Links to the documentation's own files, so that there is one text.
GUIDES_DIR = Path(__file__).parents[1] / "guides"
# The first is the page of the plain address.
GUIDES = ("users", "gallery", "ssh", "frameworks", "reasons")
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


@functools.cache
def read_guide(name: str, url: str, portal_url: str = "") -> Guide:
    """Return one of GUIDES.

    Args:
        name: Name of its file.
        url: Address of all guides, which ends in "/".
        portal_url: Address of the portal, for commands that users copy; empty if it is not known.
    """
    text = (GUIDES_DIR / f"{name}.md").read_text(encoding="utf-8")
    return render(text.replace(_EXAMPLE_URL, portal_url.rstrip("/") or _EXAMPLE_URL), url)


def render(markdown: str, url: str) -> Guide:
    """Return a guide's Markdown as HTML, without what HTML it has.

    Links to other guides and pictures lead below `url`; of other relative links only the words
    stay, since the portal does not serve what they lead to.

    Source:
        CommonMark 0.31 with tables; anchors as on GitHub and in the site that Sphinx builds.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    headings = tuple(_with_anchors(tokens))
    title = next((heading.text for heading in headings if heading.level == 1), "")
    for token in tokens:
        token.children = list(_with_addresses(token.children or [], url))
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


def _with_addresses(tokens: list[Token], url: str) -> Iterator[Token]:
    kept: list[bool] = []
    for token in tokens:
        if token.type == "image":
            name = str(token.attrGet("src"))
            token.attrSet("src", url + name)
            token.attrSet("loading", "lazy")
            # Otherwise the text jumps away from a link's target while pictures load.
            for side, n_pixels in zip(("width", "height"), _png_size(name), strict=False):
                token.attrSet(side, str(n_pixels))
        elif token.type == "link_open":
            address = _address(str(token.attrGet("href")), url)
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


def _address(target: str, url: str) -> str | None:
    if target.startswith("#") or _ADDRESS.match(target):
        return target
    page, _, anchor = target.partition("#")
    name = page.removesuffix(".md")
    if name not in GUIDES or name == page:
        return None
    return f"{url}{name}" + (f"#{anchor}" if anchor else "")
