"""The guides as pages of the hub."""

import re
from pathlib import Path

import pytest

from portal.hub.pages.base import TEMPLATES_DIR
from portal.hub.pages.guide import (
    GUIDES_DIR,
    Heading,
    guide_groups,
    guide_names,
    read_guide,
    render,
    search_parts,
)

URL = "/hub/help/"
SERVER = Path(__file__).parents[5] / "portal/server"


def test_a_page_has_its_title_and_parts_with_anchors() -> None:
    guide = render("# Guide\n\n## Log in\n\n### Or out\n\n## Run `srun` (now)\n\n## Log in\n", URL)

    assert guide.title == "Guide"
    assert guide.headings == (
        Heading(level=2, text="Log in", anchor="log-in"),
        Heading(level=3, text="Or out", anchor="or-out"),
        Heading(level=2, text="Run srun (now)", anchor="run-srun-now"),
        Heading(level=2, text="Log in", anchor="log-in-1"),
    )
    assert '<h3 id="or-out">' in guide.html
    assert "<h1" not in guide.html


def test_commands_to_copy_have_the_portals_own_address() -> None:
    shown = read_guide("ssh", URL, "https://gpus.example.org/").html

    assert "setup https://gpus.example.org\n" in shown
    assert "https://gpus.example.org/hub/help/dsportal.pyz" in shown
    assert "setup https://portal.example.com\n" in read_guide("ssh", URL).html


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("[a](gallery.md)", f'<a href="{URL}gallery">a</a>'),
        ("[a](train.md#resume)", f'<a href="{URL}train#resume">a</a>'),
        ("[a](../reference/reasons.md)", f'<a href="{URL}reasons">a</a>'),
        ("[a](#log-in)", '<a href="#log-in">a</a>'),
        ("[a](https://example.org)", '<a href="https://example.org">a</a>'),
        ("[a **b**](../SECURITY.md) c", "<p>a <strong>b</strong> c</p>"),
        ("[a](../operate/index.md#x)", "<p>a</p>"),
        ("![A](../images/a.png)", f'src="{URL}images/a.png" alt="A"'),
        ("<script>1</script>", "&lt;script&gt;"),
        ("[a](javascript:alert)", "[a](javascript:alert)"),
    ],
)
def test_links_lead_to_what_the_portal_serves(markdown: str, html: str) -> None:
    assert html in render(markdown, URL).html


@pytest.mark.parametrize("name", guide_names())
def test_links_and_pictures_of_the_guides_are_there(name: str) -> None:
    guide = read_guide(name, URL)

    assert guide.title
    assert "toctree" not in guide.html
    pictures = re.findall(rf'src="{URL}([^"]+)"', guide.html)
    assert guide.html.count(' width="') == len(pictures)
    docs = GUIDES_DIR.parents[2] / "docs"
    assert [each for each in pictures if not (docs / each).is_file()] == []
    links = re.findall(rf'href="(?:{URL}([\w-]+))?(?:#([^"]+))?"', guide.html)
    for page, anchor in links:
        target = read_guide(page or name, URL)
        assert not anchor or f'id="{anchor}"' in target.html, (page, anchor)


def test_tables_and_code_can_be_moved_with_the_keyboard() -> None:
    html = render("| | b |\n|---|---|\n| 1 | 2 |\n\n```sh run\nls\n```\n", URL).html

    assert '<div class="portal-scroll" tabindex="0"><table>' in html
    assert '<pre tabindex="0"><code class="language-sh">ls' in html
    assert "<td></td>" in html
    assert "<th></th>" not in html


def test_the_list_has_every_guide_in_a_group() -> None:
    listed = [name for group in guide_groups() for name, _ in group.pages]

    assert sorted(listed) == sorted(set(guide_names()) - {"index"})


def test_help_on_each_page_of_the_hub_leads_to_its_place_in_the_guide() -> None:
    pages = {page.name: page.read_text() for page in TEMPLATES_DIR.glob("*.html")}
    titled = {name for name, text in pages.items() if "{% set page_title = " in text}
    help_pages = {
        name: found[1]
        for name, text in pages.items()
        if (found := re.search(r'{% set help_page = "(.*)" %}', text))
    }

    assert help_pages.keys() == titled - {"help.html"}
    assert [each for each in help_pages.values() if not is_in_the_guide(each)] == []


def test_the_guide_has_what_dialogs_and_pages_of_a_session_link_to() -> None:
    dialogs = (SERVER / "labextension_src/src/base/guide.ts").read_text()
    table = re.search(r"const PLACES = {(.*?)}", dialogs, re.DOTALL)
    assert table is not None
    places = re.findall(r": '(.*)'", table[1])
    for page in SERVER.glob("*/pages/*.html"):
        places += re.findall(r"guides_url ?}+([\w#-]+)", page.read_text())

    assert len(places) > 10
    assert [each for each in places if not is_in_the_guide(each)] == []


def is_in_the_guide(place: str) -> bool:
    """Whether the hub serves a guide with this "page" or "page#anchor"."""
    name, _, anchor = place.partition("#")
    return name in guide_names() and (not anchor or f'id="{anchor}"' in read_guide(name, URL).html)


def test_a_search_finds_a_part_by_its_words() -> None:
    (found,) = (part for part in search_parts() if part.anchor == "while-it-waits")

    assert (found.name, found.title) == ("start-a-session", "Start a session")
    assert "queue" in found.text
    assert not any("![" in part.text for part in search_parts())
