"""Cells as HTML without scripts, rendered by nbconvert and kept while they do not change."""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

MOST_KEPT = 2000
MOST_HTML_CHARACTERS = 2_000_000
# Others are programs, or load something.
SHOWN_TYPES = frozenset({
    "text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg",
})  # fmt: skip
TAGS = frozenset({
    "a", "abbr", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "del",
    "details", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img",
    "kbd", "li", "ol", "p",
    "pre", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td",
    "tfoot", "th", "thead", "tr", "u", "ul",
})  # fmt: skip
_ATTRIBUTES = frozenset({"class", "style", "title", "alt", "width", "height", "colspan", "rowspan"})
# What these contain is not meant to be read.
_WITH_CONTENT = ("script", "style", "template", "iframe", "object", "noscript", "textarea", "svg")
TOO_LARGE = "<p><em>This cell is too large to be shown here.</em></p>"


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell as the page shows it.

    Attributes:
        digest: Another one after each change.
        html: Sanitized.
    """

    id: str
    digest: str
    html: str


class Renderer:
    """Renders cells in a thread of its own, each once."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reading")
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._exporter: Any = None

    async def render(
        self, cells: Iterable[Mapping[str, Any]], language: str
    ) -> tuple[CellView, ...]:
        """Return the cells in their order."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._render_all, tuple(cells), language)

    def _render_all(
        self, cells: tuple[Mapping[str, Any], ...], language: str
    ) -> tuple[CellView, ...]:
        views = []
        for number, cell in enumerate(cells):
            text = json.dumps([language, cell], sort_keys=True, default=str)
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            html = self._kept.get(digest)
            if html is None:
                html = self._render(cell, language)
                self._kept[digest] = html
                if len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            views.append(CellView(str(cell.get("id") or f"cell-{number}"), digest, html))
        return tuple(views)

    def _render(self, cell: Mapping[str, Any], language: str) -> str:
        # Loaded with the first guest: most sessions have none.
        import nbformat
        from nbconvert import HTMLExporter

        if self._exporter is None:
            # The template without a page around the cells.
            self._exporter = HTMLExporter(template_name="basic")
        plain = json.loads(json.dumps(cell, default=str))
        plain.setdefault("metadata", {})
        for output in plain.get("outputs", ()):
            if "data" in output:
                output["data"] = {k: v for k, v in output["data"].items() if k in SHOWN_TYPES}
        notebook = nbformat.from_dict(
            {
                "nbformat": 4,
                "nbformat_minor": 5,
                "metadata": {"language_info": {"name": language}},
                "cells": [plain],
            }
        )
        html, _ = self._exporter.from_notebook_node(notebook)
        return TOO_LARGE if len(html) > MOST_HTML_CHARACTERS else sanitize(html)


def sanitize(html: str) -> str:
    """Return HTML without anything that runs, loads, links into the portal or covers the page."""
    from bleach.css_sanitizer import CSSSanitizer
    from bleach.sanitizer import Cleaner
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "html.parser")
    for tag in soup(_WITH_CONTENT):
        tag.decompose()
    cleaner = Cleaner(
        tags=TAGS,
        attributes=_is_harmless,
        protocols=frozenset({"http", "https", "data"}),
        strip=True,
        css_sanitizer=CSSSanitizer(),
    )
    return str(cleaner.clean(str(soup)))


def _is_harmless(tag: str, name: str, value: str) -> bool:
    if tag == "img" and name == "src":
        return value.startswith(("data:image/png;", "data:image/jpeg;", "data:image/gif;"))
    if tag == "a" and name == "href":
        return value.startswith(("https://", "http://"))
    return name in _ATTRIBUTES
