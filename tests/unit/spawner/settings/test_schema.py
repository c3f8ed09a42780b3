"""A setting is one line: key, trait, what a session is told, and a row of the reference."""

import json
from dataclasses import dataclass, fields

import pytest
from traitlets import HasTraits, TraitError

from portal.hub.settings.loader import TABLES
from portal.hub.settings.reference import example_toml, reference_markdown
from portal.settings.session_tables import SessionTables
from spawner.errors import SettingsError
from spawner.options.traits import COMPOSED, WITH_TRAITS, SiteTraits
from spawner.session_settings import VARIABLE, plain_table, read_told
from spawner.settings.resources import ResourceSettings
from spawner.settings.schema import read_table, setting
from spawner.settings.traits import read_traits, trait_values, traits_of


@dataclass(frozen=True, kw_only=True)
class WithOneMore(ResourceSettings):
    """What comes with each GPU, and for how long."""

    fans: int = setting("Fans that blow on each GPU.", default=2, lowest=1, highest=9)


@pytest.fixture(autouse=True)
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, "resources", WithOneMore)


def test_the_line_is_a_key_of_portal_toml_with_its_range() -> None:
    assert read_table(WithOneMore, {"fans": 3}, where="[resources]").fans == 3
    with pytest.raises(SettingsError, match=r"'fans' in .* the largest value is 9"):
        read_table(WithOneMore, {"fans": 10}, where="[resources]")
    assert "# Fans that blow on each GPU.\n# fans = 2\n" in example_toml()


def test_the_line_is_a_row_of_the_reference() -> None:
    row = "| `fans` | whole number, 1 to 9 | `2` | Fans that blow on each GPU. Trait `fans`. |"

    assert row in reference_markdown()


def test_the_line_is_a_trait_of_the_spawner_with_its_range() -> None:
    class Traits(HasTraits):
        vars().update(traits_of(WithOneMore))

    table = read_table(WithOneMore, {"fans": 3}, where="")
    traits = Traits(**trait_values(table))

    assert Traits.fans.help == "Fans that blow on each GPU."
    assert read_traits(traits, WithOneMore) == table
    with pytest.raises(TraitError):
        traits.fans = 10


def test_the_line_is_told_to_a_session() -> None:
    told = json.dumps({"resources": plain_table(WithOneMore(fans=3))})

    assert read_told({VARIABLE: told}, WithOneMore, "resources").fans == 3


def test_every_table_that_a_session_reads_is_one_of_portal_toml() -> None:
    assert {key.name for key in fields(SessionTables)} <= {*TABLES, "tools"}


def test_each_trait_has_a_key_or_is_in_the_reference() -> None:
    reference = reference_markdown()
    alone = SiteTraits.class_traits(config=True).keys() - traits_of(*WITH_TRAITS).keys()

    assert [name for name in alone - {*COMPOSED} if f"| `{name}` |" not in reference] == []
