"""A setting of batchspawner that does nothing is named, with what takes its place."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from batchspawner import BatchSpawnerBase, BatchSpawnerRegexStates, SlurmSpawner
from jupyterhub.spawner import Spawner
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from portal.hub.settings.loader import TABLES
from portal.hub.settings.reference import NAMED_TABLES
from spawner.hub.unused_traits import UNUSED, describe_unused, warn_of_unused
from spawner.spawner import SlurmGPUSpawner

PAGE = Path(__file__).parents[4] / "docs/reference/traits.md"
USED = {
    *("req_partition", "req_account", "req_qos", "req_reservation"),
    *("req_prologue", "req_epilogue", "req_options"),
}
# A file as sites with batchspawner have it.
CONFIG = """
c.JupyterHub.spawner_class = "slurm-gpu"
c.JupyterHub.bind_url = "http://:8000"
c.Spawner.http_timeout = 120
c.Spawner.cmd = ["jupyterhub-singleuser"]
c.BatchSpawnerBase.req_runtime = "12:00:00"
c.SlurmSpawner.batch_script = "#!/bin/bash"
c.SlurmGPUSpawner.req_partition = "gpu"
c.SlurmGPUSpawner.req_memory = "4gb"
c.SlurmGPUSpawner.req_options = "--constraint=v100"
"""


def test_a_configuration_file_of_batchspawner_is_told_what_it_sets_in_vain(tmp_path: Path) -> None:
    path = tmp_path / "jupyterhub_config.py"
    path.write_text(CONFIG)

    said = list(describe_unused(PyFileConfigLoader(str(path)).load_config(), SlurmGPUSpawner))

    assert said == [
        "c.SlurmGPUSpawner.req_memory is set and not used. Remove it. In its place:"
        " memory_per_gpu_gib (memory_per_gpu_gib of [resources] in portal.toml): for each GPU of"
        " the session.",
        "c.SlurmSpawner.batch_script is set and not used. Remove it. In its place: req_prologue,"
        " req_epilogue and req_options.",
        "c.BatchSpawnerBase.req_runtime is set and not used. Remove it. In its place:"
        " session_hours and max_session_hours (session_hours of [resources] in portal.toml):"
        " users choose how long.",
        "c.Spawner.cmd is set and not used. Remove it. In its place: server_argv (server of"
        " [environments] in portal.toml).",
    ]


def test_a_configuration_without_them_is_told_nothing_and_stays_as_it_is() -> None:
    config = Config({"SlurmGPUSpawner": {"req_partition": "gpu"}})

    assert list(describe_unused(config, SlurmGPUSpawner)) == []
    assert dict(config) == {"SlurmGPUSpawner": {"req_partition": "gpu"}}


def test_each_trait_of_batchspawner_is_used_or_named() -> None:
    classes = {BatchSpawnerBase, BatchSpawnerRegexStates, SlurmSpawner}
    inherited = {
        name
        for name, trait in SlurmGPUSpawner.class_traits(config=True).items()
        if trait.this_class in classes
    }
    of_jupyterhub = {name for name in UNUSED if name in Spawner.class_trait_names()}

    assert USED | (set(UNUSED) - of_jupyterhub) | {"ip"} == inherited
    assert not USED & set(UNUSED)


@pytest.mark.parametrize("instead", [one for one in UNUSED.values() if "nothing: " not in one])
def test_what_takes_its_place_is_a_trait(instead: str) -> None:
    names = re.split(", | and | or ", re.split(r": | \(", instead)[0])

    assert set(names) <= set(SlurmGPUSpawner.class_trait_names(config=True))
    assert not set(names) & set(UNUSED)


@pytest.mark.parametrize("instead", [one for one in UNUSED.values() if "portal.toml" in one])
def test_what_takes_its_place_is_a_key(instead: str) -> None:
    key, _, rest = instead.partition("(")[2].partition(" in portal.toml")[0].partition(" of [")
    if rest:
        assert key in set(TABLES[rest.rstrip("]")].__dataclass_fields__)
    else:
        assert key == "[partitions.NAME]"
        assert "partitions" in NAMED_TABLES


def test_the_page_has_each_of_them() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)

    assert dict(rows) == UNUSED | dict.fromkeys(USED, "works as before")


@pytest.mark.parametrize(("spawner_class", "n_said"), [(SlurmGPUSpawner, 1), (SlurmSpawner, 0)])
async def test_a_hub_says_it_as_it_starts(spawner_class: type, n_said: int) -> None:
    said: list[str] = []
    hub = SimpleNamespace(
        spawner_class=spawner_class,
        config=Config({"SlurmSpawner": {"req_memory": "4gb"}}),
        log=SimpleNamespace(warning=lambda _form, sentence: said.append(sentence)),
    )

    await warn_of_unused(hub)

    assert len(said) == n_said
