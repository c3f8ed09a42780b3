"""Each picture of a guide is taken by a test, and shows sentences that the product has."""

import functools
import re
import tomllib
from pathlib import Path

import pytest

from tests.support.load_file import load_file

CHECKOUT = Path(__file__).parents[3]
PICTURES = tomllib.loads((CHECKOUT / "docs/pictures/sentences.toml").read_text())
PAGES = [CHECKOUT / "README.md", *CHECKOUT.glob("docs/**/*.md")]
make_pictures = load_file(CHECKOUT / "docs/make_pictures.py")
SOURCES = ("spawner", "portal")
KINDS = (".html", ".js", ".py", ".ts")
BUILT = {"labextension", "node_modules"}
# Where a line ends inside a text, and what is filled in.
JOINED = re.compile(r"""(["'`])\s*\+?\s*\n\s*(?:\+\s*)?f?["'`]|\s*\n\s*""")
FILLED = re.compile(r"\{\{[^{}]*\}\}|\$?\{[^{}'\"`]*\}")


@functools.cache
def words_of_the_product() -> str:
    files = [path for folder in SOURCES for path in (CHECKOUT / folder).rglob("*")]
    texts = [
        path.read_text(encoding="utf-8")
        for path in files
        if path.suffix in KINDS and BUILT.isdisjoint(path.parts)
    ]
    joined = JOINED.sub(lambda end: "" if end[1] else " ", "\n".join(texts))
    return FILLED.sub("…", joined)


@pytest.mark.parametrize("picture", PICTURES)
def test_the_product_has_the_sentences_of_a_picture(picture: str) -> None:
    said = PICTURES[picture]

    assert (CHECKOUT / f"docs/images/{picture}.png").is_file()
    assert [each for each in said["shows"] if each not in words_of_the_product()] == []
    outdated = said.get("no_longer", [])
    assert [each for each in outdated if each in words_of_the_product()] == []


def test_every_picture_of_a_guide_is_made_and_no_other() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)

    assert set(re.findall(r"images/([\w-]+)\.png", text)) == make_pictures.PICTURES.keys()


def test_every_picture_that_is_taken_over_is_taken_by_a_test() -> None:
    tests = [*(CHECKOUT / "tests/browser").glob("*.py"), *(CHECKOUT / "tests/server").glob("*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in tests)
    named = {name.partition("/")[2] for name in make_pictures.PICTURES.values()}

    taken = {
        f"{name}{end}" for name in re.findall(r'"([\w-]+)"', text) for end in ("", "-dark", "-360")
    }
    assert named | make_pictures.FILM.keys() <= taken
