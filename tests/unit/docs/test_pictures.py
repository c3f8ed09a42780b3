"""The pictures of the guides show sentences that the product has."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
PICTURES = tomllib.loads((CHECKOUT / "docs/pictures/sentences.toml").read_text())
SOURCES = ("spawner", "portal")
KINDS = (".html", ".js", ".py", ".ts")
# Where a line ends inside a text, and what is filled in.
JOINED = re.compile(r"""(["'`])\s*\+?\s*\n\s*(?:\+\s*)?f?["'`]|\s*\n\s*""")
FILLED = re.compile(r"\{\{[^{}]*\}\}|\$?\{[^{}'\"`]*\}")


@functools.cache
def words_of_the_product() -> str:
    files = [path for folder in SOURCES for path in (CHECKOUT / folder).rglob("*")]
    texts = [
        path.read_text(encoding="utf-8")
        for path in files
        if path.suffix in KINDS and "labextension/static" not in str(path)
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


def test_what_the_scenes_wait_for_is_in_the_product() -> None:
    scenes = [path.read_text() for path in (CHECKOUT / "docs/pictures").glob("*.py")]
    waited = re.findall(r'(?:to_contain_text\(|has_text\("[\w#-]+", )"([^"\\]*)"', "".join(scenes))

    assert len(waited) > 5
    assert [each for each in waited if each not in words_of_the_product()] == []
