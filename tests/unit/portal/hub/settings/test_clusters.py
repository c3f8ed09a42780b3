"""The further clusters of a site in portal.toml."""

from collections.abc import Callable

import pytest
from traitlets.config import Config

from portal.hub.apply import apply_settings
from portal.hub.settings.loader import Settings
from spawner.errors import SettingsError

Load = Callable[[str], Settings]
VOLTA = """
[slurm]
title = "Kepler"
[storage]
isilon = "/srv/isilon"
[clusters.volta]
title = "Volta"
slurm_conf = "/etc/slurm-volta/slurm.conf"
"""


def test_a_cluster_has_the_settings_of_the_site_but_for_its_own(
    load: Load, minimal_toml: str
) -> None:
    own = """
[clusters.volta.partitions.big]
[clusters.volta.choices]
max_gpus = 16
[clusters.volta.storage]
isilon = "/volta/isilon"
[clusters.volta.environments]
server = "/volta/server"
"""
    settings = load(minimal_toml + VOLTA + "[choices]\nallow_cpu_only = false\n" + own)

    (named,) = settings.clusters.values()
    assert (named[0].title, str(named[0].slurm_conf)) == ("Volta", "/etc/slurm-volta/slurm.conf")
    there = named[1]
    assert list(there.partitions) == ["big"]
    assert (there.choices.max_gpus, there.choices.allow_cpu_only) == (16, False)
    assert [place.path for place in there.site_storage] == ["/volta/isilon"]
    assert there.environments.server_program.startswith("/volta/server/")
    assert list(settings.partitions) == ["jupyter"]
    assert settings.choices.max_gpus == 0


def test_a_site_without_further_clusters_tells_the_spawner_of_none(
    load: Load, minimal_toml: str
) -> None:
    config = Config()
    apply_settings(config, load(minimal_toml))
    assert config.SlurmGPUSpawner.clusters == {}


def test_the_spawner_is_told_what_holds_on_the_cluster(load: Load, minimal_toml: str) -> None:
    config = Config()
    apply_settings(
        config, load(minimal_toml + VOLTA + '[clusters.volta.storage]\nisilon = "/volta"\n')
    )

    there = config.SlurmGPUSpawner.clusters["volta"]
    assert (there["slurm_title"], there["slurm_conf"]) == ("Volta", "/etc/slurm-volta/slurm.conf")
    assert config.SlurmGPUSpawner.slurm_title == "Kepler"
    assert '"isilon": "/volta"' in there["environment"]["PORTAL_STORAGE"]
    assert '"isilon": "/srv/isilon"' in config.SlurmGPUSpawner.environment["PORTAL_STORAGE"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("[clusters]\nvolta = 1", "clusters"),
        ("[clusters.volta]\ntitle = 'V'", "slurm_conf"),
        ("[clusters.volta]\ntitle = 'V'\nslurm_conf = 'slurm.conf'", "absolute path"),
        ("[clusters.'../b']\ntitle = 'V'\nslurm_conf = '/s'", "not a valid name"),
        (f"{VOLTA}[clusters.volta.hub]\naddress = '10.0.0.1'", "same for all clusters"),
        (f"{VOLTA}[clusters.volta.choices]\nmax_gpu = 1", "max_gpus"),
        (f"{VOLTA}[clusters.volta.partitions.big]\n[groups.a]\npartitions = ['jupyter']", "big"),
    ],
    ids=str,
)
def test_a_wrong_table_is_refused_by_its_name(
    load: Load, minimal_toml: str, lines: str, words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        load(f"{minimal_toml}\n{lines}\n")
