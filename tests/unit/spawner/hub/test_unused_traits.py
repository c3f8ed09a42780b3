"""A setting of batchspawner that does nothing is named, with what takes its place."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from batchspawner import BatchSpawnerBase, BatchSpawnerRegexStates, SlurmSpawner
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from portal.hub.settings.loader import TABLES
from portal.hub.settings.reference import NAMED_TABLES
from spawner.hub.unused_traits import UNUSED, UnusedTraits, describe_unused
from spawner.spawner import SlurmGPUSpawner

USED = {
    *("req_partition", "req_account", "req_qos", "req_reservation"),
    *("req_prologue", "req_epilogue", "req_options"),
}
# A file as sites with batchspawner have it.
CONFIG = """
c.JupyterHub.spawner_class = "slurm-gpu"
c.JupyterHub.bind_url = "http://:8000"
c.Spawner.http_timeout = 120
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
        "c.SlurmGPUSpawner.req_memory is set and not used. Remove it; in its place:"
        " memory_per_gpu_gib of [resources] in portal.toml.",
        "c.SlurmSpawner.batch_script is set and not used. Remove it; in its place: req_prologue,"
        " req_epilogue and req_options.",
        "c.BatchSpawnerBase.req_runtime is set and not used. Remove it; in its place:"
        " session_hours of [resources] in portal.toml.",
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
        # JupyterHub has it too, and with the same meaning.
        if trait.this_class in classes and name != "ip"
    }

    assert USED | set(UNUSED) == inherited
    assert not USED & set(UNUSED)


@pytest.mark.parametrize("text", [text for text in UNUSED.values() if "portal.toml" in text])
def test_what_takes_its_place_is_a_key(text: str) -> None:
    key, _, rest = text.partition(" of [")
    if rest:
        assert key in set(TABLES[rest.split("]")[0]].__dataclass_fields__)
    else:
        assert text.startswith("[partitions.NAME]")
        assert "partitions" in NAMED_TABLES


def test_it_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    config = Config({"SlurmGPUSpawner": {"req_memory": "4gb"}})
    unused = UnusedTraits()

    for _ in range(2):
        unused.warn(config, SlurmGPUSpawner, logging.getLogger("hub"))

    assert len(caplog.messages) == 1
