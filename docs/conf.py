"""How Sphinx makes a site of the guides. `tests/run docs` builds it into tests/output/docs."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "portal/dsportal"))
sys.path.insert(0, str(ROOT))

from spawner import __version__  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Data Scientist Portal"
copyright = "the authors of the Data Scientist Portal"
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "autodoc_traits",
    "sphinxcontrib.mermaid",
]
# The source folder is the repository's, since guides link to README and others beside docs.
root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/*/*.md", "*.md", "notebook_templates/README.md"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
myst_fence_as_directive = ["mermaid"]
# Lines such as ```toml edit=FILE are for the test that follows the guide.
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "pydata_sphinx_theme"
html_title = project
html_logo = "../portal/hub/static/logo.svg"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}

_LINK = re.compile(r"\[([^\]\[]+)\]\(([^)\s#]+)(?:#[^)]*)?\)")


def unlink_code(app: Sphinx, page: str, source: list[str]) -> None:
    """Keep only the words of links to folders and to pages that are not part of the site.

    On the forge, where the same pages are read, such a link leads to the code.
    """
    folder = (ROOT / page).parent

    def words_or_link(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        is_page = target.suffix == ".md" and target.is_file()
        name = target.relative_to(ROOT).with_suffix("") if target.is_relative_to(ROOT) else target
        is_strange = target.is_dir() or (is_page and str(name) not in app.env.found_docs)
        return match[1] if is_strange else match[0]

    source[0] = _LINK.sub(words_or_link, source[0])


def setup(app: Sphinx) -> None:
    """Connect to Sphinx."""
    app.connect("source-read", unlink_code)
    # Some of batchspawner's traits, which come with the class, have no word of explanation.
    warnings.filterwarnings("ignore", module="autodoc_traits")
