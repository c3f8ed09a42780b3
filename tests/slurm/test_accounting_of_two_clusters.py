"""What accounting says where one slurmdbd serves two clusters."""

import csv
import json
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from deploy.one_machine.layout import PORTAL_TOML
from tests.slurm.conftest import USER, jobs_of
from tests.support.eventually import eventually
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
