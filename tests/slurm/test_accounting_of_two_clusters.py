"""What accounting says where one slurmdbd serves two clusters."""

import csv
import json
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from deploy.one_machine.layout import PORTAL_TOML
from spawner.client.command import ClusterAddress
from spawner.client.slurm import Slurm
from tests.slurm.conftest import USER, jobs_of
from tests.support.eventually import eventually
from tests.support.put_back import put_back
from tests.support.second_cluster import NAME, SLURM_CONF, SecondCluster

pytestmark = pytest.mark.cluster

DSPORTAL = "/opt/data-scientist-portal/environments/hub/bin/dsportal"
TABLES = f"""
[slurm]
title = "Kepler"
[clusters.{NAME}]
title = "Volta"
slurm_conf = "{SLURM_CONF}"
[clusters.away]
title = "Away"
slurm_conf = "{{away}}"
"""
JOB = ("sbatch", "--parsable", f"--uid={USER}", "--output=/dev/null", "--chdir=/", "--gpus=1")


@pytest.fixture
def settings(tmp_path: Path, accounted_volta: SecondCluster) -> Path:
    """Two clusters, and a third one whose slurmdbd does not answer."""
    assert accounted_volta.jobs() == []
    path, away = tmp_path / "portal.toml", tmp_path / "slurm.conf"
    away.write_text(SLURM_CONF.read_text() + "AccountingStoragePort=1\n")
    path.write_text(PORTAL_TOML.read_text() + TABLES.format(away=away))
    return path


def use(settings: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DSPORTAL, "usage", "--settings", str(settings), *options],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_use_is_counted_by_cluster_and_one_that_does_not_answer_is_named(
    accounted_volta: SecondCluster, settings: Path
) -> None:
    since = ("--since", f"{datetime.now():%Y-%m-%dT%H:%M:%S}")
    there = accounted_volta.ask(*JOB, "--wrap=sleep 600")
    here = subprocess.check_output((*JOB, "--wrap=sleep 600"), text=True).strip()
    assert here == there, "another job came between: no collision was tried"

    def rows() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(use(settings, *since, "--json").stdout)["rows"]
        return [row for row in found if row["user"] == USER]

    try:
        eventually(lambda: len(rows()) == 2, timeout_s=60)
        assert [(row["cluster"], row["jobs"]) for row in rows()] == [("Kepler", 1), ("Volta", 1)]
    finally:
        accounted_volta.ask("scancel", there)
        subprocess.run(("scancel", here), check=True, timeout=30)
        eventually(lambda: not jobs_of(USER), timeout_s=60)
    said = use(settings, *since, "--json")
    assert said.returncode == 1, "a part of the use is missing"
    assert list(json.loads(said.stdout)["missing"]) == ["Away"]
    table = list(csv.DictReader(use(settings, *since, "--csv").stdout.splitlines()))
    (missing,) = [row for row in table if row["cluster"] == "Away"]
    assert missing["gpu_hours"] == ""
    gauges = use(settings, *since, "--gauges").stdout
    assert 'dsportal_usage_answers{cluster="Away"} 0.0' in gauges
    assert 'dsportal_usage_answers{cluster="Volta"} 1.0' in gauges
    assert "hours of Away are missing" in use(settings, *since).stdout


async def test_accounts_and_limits_of_a_user_are_those_of_the_cluster_that_is_asked(
    accounted_volta: SecondCluster,
) -> None:
    def change(*words: str) -> None:
        subprocess.run(("sacctmgr", "-i", *words), check=True, capture_output=True, timeout=60)

    first, volta = (
        Slurm(launcher_argv=(), sudo_argv=(), address=ClusterAddress(name=name, slurm_conf=conf))
        for name, conf in (("", ""), (NAME, str(SLURM_CONF)))
    )
    before = await first.accounting.read_associations()

    of_lab = ("where", "account=lab", f"cluster={NAME}")
    with put_back(
        ("sacctmgr", "-i", "delete", "user", USER, *of_lab),
        ("sacctmgr", "-i", "delete", "account", "lab"),
    ):
        change("add", "account", "lab", f"cluster={NAME}")
        change("add", "user", USER, "account=lab", f"cluster={NAME}", "MaxTRESPerJob=gres/gpu=1")

        there = await volta.accounting.read_associations()
        assert there.accounts(USER) == ("lab",)
        assert there.ceiling(USER).max_gpus == 1
        assert (await first.accounting.read_associations()).by_user == before.by_user
