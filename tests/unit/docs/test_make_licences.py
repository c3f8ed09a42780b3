"""The page on licences names every package that an installation may bring."""

from email.message import Message
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.load_file import load_file

CHECKOUT = Path(__file__).parents[3]
PAGE = CHECKOUT / "docs/reference/licences.md"


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    return load_file(CHECKOUT / "docs" / "make_licences.py")


def metadata(*fields: tuple[str, str]) -> Message:
    message = Message()
    for key, value in (("Name", "Some_Package"), *fields):
        message[key] = value
    return message


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([("License-Expression", "MIT OR Apache-2.0"), ("License", "MIT")], "MIT OR Apache-2.0"),
        (
            [("License", "BSD-3-Clause"), ("Classifier", "License :: OSI Approved :: BSD License")],
            "BSD-3-Clause",
        ),
        ([("License", "MIT License\n\nCopyright 2026")], "MIT"),
        (
            [
                ("License", "Copyright 2026"),
                ("Classifier", "Topic :: Utilities"),
                ("Classifier", "License :: OSI Approved :: ISC License (ISCL)"),
            ],
            "ISC",
        ),
    ],
)
def test_a_licence_is_what_the_package_says_most_exactly(
    licences: ModuleType, fields: list[tuple[str, str]], expected: str
) -> None:
    assert licences.licence_of(metadata(*fields)) == expected


def test_a_package_that_says_nothing_is_named(licences: ModuleType) -> None:
    with pytest.raises(LookupError, match="some-package says nothing known"):
        licences.licence_of(metadata(("License", "UNKNOWN")))


def test_the_licence_of_most_packages_comes_first(licences: ModuleType) -> None:
    text = licences.table({"b": "MIT", "a": "MIT", "c": "ISC"})

    assert text.splitlines()[2:] == ["| MIT | a, b |", "| ISC | c |"]


def test_the_page_names_every_locked_package(licences: ModuleType) -> None:
    """Run "python docs/make_licences.py" after a lock got another package."""
    named = set(PAGE.read_text(encoding="utf-8").replace(",", " ").split())
    npm = {name for lock in ("proxy", "axe") for name in licences.read_npm(lock)}

    assert (licences.locked_packages() | npm) - licences.OF_PYTHON - named == set()
