"""The page about REST interfaces names every route of the portal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source_code import tree_of

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = (CHECKOUT / "docs/reference/rest.md").read_text()
FOLDERS = ("portal/server", "portal/hub", "spawner/hub")
ROUTE = re.compile(r"/portal/(?:api/)?[a-z]|/api/dsportal/")
# For whoever runs the hub, through the command dsportal.
OPERATORS = ("/api/dsportal/users",)
# Pages and their contents, opened by a click.
PAGES = ("/portal/jobs", "/portal/tensorboards")


def routes() -> Iterator[str]:
    for folder in FOLDERS:
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            if not ROUTE.search(path.read_text()):
                continue
            for node in ast.walk(tree_of(path)):
                text = node.value if isinstance(node, ast.Constant) else ""
                # Not a sentence about a route.
                if isinstance(text, str) and ROUTE.match(text) and " " not in text:
                    yield re.split(r"[^a-z/_-]", text.lstrip("/"))[0].rstrip("/")


@pytest.mark.parametrize("route", sorted(set(routes())))
def test_the_page_names_each_route(route: str) -> None:
    is_for_others = f"/{route}".startswith((*OPERATORS, *PAGES))

    assert is_for_others or route in PAGE, f"add {route} to docs/reference/rest.md"
