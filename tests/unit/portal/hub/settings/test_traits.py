"""Each trait of the spawner has a key in portal.toml, or the reference says that it has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from traitlets.config import Config

from portal.hub.apply import apply_settings
from portal.hub.settings.loader import Settings
from portal.hub.settings.traits import COMPOSED, INTERNAL, KEYED, trait_values
from spawner.options.traits import SiteTraits

REFERENCE = Path(__file__).parents[5] / "docs/reference/settings.md"
TRAITS = SiteTraits.class_traits(config=True)
Load = Callable[[str], Settings]


def test_a_trait_has_a_key_or_is_listed_as_one_without() -> None:
    lists = [*KEYED, *COMPOSED, *INTERNAL]

    assert sorted(lists) == sorted(TRAITS)


@pytest.mark.parametrize("name", INTERNAL)
def test_the_reference_describes_a_trait_without_a_key(name: str) -> None:
    assert f"| `{name}` |" in REFERENCE.read_text(encoding="utf-8")
    assert TRAITS[name].help


def test_the_spawner_accepts_each_value_of_a_key(load: Load, minimal_toml: str) -> None:
    traits = SiteTraits(**trait_values(load(minimal_toml)))

    assert traits.partitions == ["jupyter"]
    assert traits.max_gpus is None


def test_what_the_file_leaves_out_is_what_the_spawner_does_alone(
    load: Load, minimal_toml: str
) -> None:
    values = trait_values(load(minimal_toml))
    alone = SiteTraits()
    # A site has to name its partitions.
    del values["partitions"]

    assert values == {name: getattr(alone, name) for name in values}


def test_how_often_slurm_is_queried_is_a_setting(load: Load, minimal_toml: str) -> None:
    table = "[slurm]\nwatch_waiting_s = 5\ntimeout_s = 20\nrunning_start_timeout_s = 600\n"
    c = Config()
    apply_settings(c, load(minimal_toml + table))

    spawner = c.SlurmGPUSpawner
    assert (spawner.watch_waiting_s, spawner.watch_running_s) == (5.0, 15.0)
    assert (spawner.slurm_timeout_s, spawner.running_start_timeout_s) == (20.0, 600)
