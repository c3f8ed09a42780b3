"""The example file and the reference say what the code accepts, no more and no less."""

from dataclasses import fields
from pathlib import Path

import pytest

from portal.hub.settings.loader import TABLES, load_settings
from portal.hub.settings.login import TlsMode
from portal.hub.settings.reference import example_toml, reference_markdown, toml_value
from spawner.settings.schema import rule_of

ROOT = Path(__file__).parents[5]
EXAMPLE = ROOT / "deploy/site/portal.example.toml"
UPDATE = f"Write it again with 'dsportal config example > {EXAMPLE}'."


def test_the_example_file_in_the_repository_is_the_one_that_the_command_prints() -> None:
    assert EXAMPLE.read_text() == example_toml(), UPDATE


def test_the_example_file_is_accepted() -> None:
    settings = load_settings(EXAMPLE)

    assert settings.partitions
    assert settings.login.admits_somebody


@pytest.mark.parametrize(
    ("table", "key"), [(name, key) for name, cls in TABLES.items() for key in fields(cls)]
)
def test_every_key_is_described_in_both(table: str, key: object) -> None:
    doc = rule_of(key).doc
    # Other tests hold the files to what the commands print.
    example, reference = EXAMPLE.read_text(), reference_markdown()

    assert doc.endswith(".")
    assert f"\n# {key.name} = " in example or f"\n{key.name} = " in example
    assert f"| `{key.name}` |" in reference
    assert doc in reference


def test_the_example_with_every_comment_taken_off_is_accepted_too(tmp_path: Path) -> None:
    """The defaults that the comments show are values that the file may really hold."""
    given = {line.split(" = ")[0] for line in example_toml().splitlines() if " = " in line[:30]}
    lines = []
    for line in example_toml().splitlines():
        name, _, value = line.removeprefix("# ").partition(" = ")
        is_shown_default = line.startswith("# ") and value and name not in given
        lines.append(line.removeprefix("# ") if is_shown_default else line)
    path = tmp_path / "portal.toml"
    path.write_text("\n".join(lines))

    assert load_settings(path) == load_settings(EXAMPLE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (8, "8"),
        (1048576, "1048576"),
        (60.0, "60"),
        (0.5, "0.5"),
        (123456.7, "123456.7"),
        ('a"b\\', '"a\\"b\\\\"'),
        (("a", "b"), '["a", "b"]'),
        ("a\tb\x7f", '"a\\tb\\u007f"'),
        (TlsMode.LDAPS, '"ldaps"'),
        (Path("/srv"), '"/srv"'),
    ],
)
def test_values_are_written_as_toml(value: object, text: str) -> None:
    assert toml_value(value) == text
