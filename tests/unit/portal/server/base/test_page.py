"""The session's pages and their styles; JupyterLab shows several in one document."""

import re
from pathlib import Path

import pytest

from portal.server.base.page import FOLDERS, filled
from spawner.session_settings import VARIABLE

SHARED = "page.css"
FILES = {path.name: path for folder in FOLDERS for path in folder.iterdir()}
PAGES = [path for path in FILES.values() if path.suffix == ".html" and SHARED in path.read_text()]


def selectors(sheet: Path) -> list[str]:
    """Return the selectors of all rules, also of those inside @media and @container."""
    text = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
    heads = [head.strip() for head in re.findall(r"([^{}]+)\{", text)]
    # A comma inside parentheses is part of one selector.
    return [
        part.strip()
        for head in heads
        if not head.startswith("@")
        for part in re.split(r",(?![^()]*\))", head)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_styles_of_a_page_reach_no_other_page(page: Path) -> None:
    sheets = re.findall(r"static/portal/([\w.]+\.css)", page.read_text())
    (root,) = re.findall(r'<main class="([^"]+)"', page.read_text())

    assert sheets == [SHARED, *([] if len(sheets) == 1 else [f"{page.stem}.css"])]
    assert root.split() == ["dsp-page", f"dsp-{page.stem}"]
    for sheet in sheets[1:]:
        found = selectors(FILES[sheet])
        assert found
        assert [one for one in found if not one.startswith(f".dsp-{page.stem} ")] == []


def test_the_styles_of_all_pages_give_way_to_those_of_each() -> None:
    found = selectors(FILES[SHARED])
    # The ground of a page that has a tab of the browser, where no other page is.
    alone = {":root:has(> body[data-base-url])", "body[data-base-url]"}

    assert found
    assert [one for one in found if not one.startswith(":where(") and one not in alone] == []


def test_pages_and_jupyterlab_have_the_accent_of_the_hub() -> None:
    portal = Path(__file__).parents[5] / "portal"
    of_hub = (portal / "hub/static/portal.css").read_text()
    light, dark = re.findall(r"--portal-accent: (#\w+);", of_hub)
    of_lab = (portal / "server/labextension_src/src/lab/theme.ts").read_text()
    accents = re.findall(r"--accent: (#\w+);", FILES[SHARED].read_text())

    assert set(accents) == {light, dark}
    assert accents[0] == light
    assert f"--jp-brand-color1: {light};" in of_lab


def test_no_two_features_have_a_file_of_one_name() -> None:
    """All are served below one address, where the first file of a name would hide others."""
    assert len(FILES) == sum(len([*folder.iterdir()]) for folder in FOLDERS)


@pytest.mark.parametrize("name", ["jobs.html", "course.html"])
def test_a_page_leads_to_the_guide_only_where_the_hub_has_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FILES[name].read_text()
    monkeypatch.setenv("JUPYTERHUB_BASE_URL", "/jupyter/")
    # As a hub of a site's own has it.
    monkeypatch.setenv(VARIABLE, '{"resources": {}}')
    without = filled(text, "/user/ada/")
    monkeypatch.setenv(VARIABLE, '{"extensions": {"portal.server": true}}')

    assert "guide" not in without
    assert without.endswith("</html>\n")
    assert 'href="/jupyter/hub/help/' in filled(text, "/user/ada/")
