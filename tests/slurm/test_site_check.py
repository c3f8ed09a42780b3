"""`dsportal check` on the real cluster: in order as it is, and with something wrong."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deploy.one_machine.layout import PORTAL_TOML
from tests.slurm.conftest import USER
from tests.support.eventually import eventually
from tests.support.second_cluster import CLUSTERS, NAME, PARTITION, SLURM_CONF, SecondCluster

DSPORTAL = "/opt/data-scientist-portal/environments/hub/bin/dsportal"

OWN_TABLE = f"""
[clusters.{NAME}]
title = "Volta"
slurm_conf = "{SLURM_CONF}"
[clusters.{NAME}.partitions.{PARTITION}]
"""


def check(settings: Path, *options: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    done = subprocess.run(
        [DSPORTAL, "check", "--json", "--settings", str(settings), *options],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stderr == ""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(done.stdout):
        found.setdefault(one["check"], []).append(one)
    return done.returncode, found


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """Return settings in a folder that the hub's account can enter."""
    path = tmp_path / "portal.toml"
    path.write_text(PORTAL_TOML.read_text())
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    return path


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_site_in_order_has_no_problem_and_a_job_ran() -> None:
    exit_code, found = check(PORTAL_TOML, "--user", USER, "--wait", "150")

    grades = {name: {one["grade"] for one in ones} for name, ones in found.items()}
    assert exit_code == 0
    # One machine is open for a trial, without TLS.
    assert grades.pop("tls") == {"warning", "skipped"}
    assert "port 8000 is open on 0.0.0.0 without TLS" in found["tls"][0]["sentence"]
    assert grades.pop("hardening") <= {"ok", "warning"}
    assert grades.pop("gpus-jupyter") == {"ok", "skipped"}
    assert set().union(*grades.values()) == {"ok"}
    assert "ran on node0" in found["trial-jupyter"][0]["sentence"]
    hardware, template = (one["sentence"] for one in found["gpus-jupyter"])
    assert "simulated" in hardware
    assert "NCCL were not tried" in hardware
    assert re.search(r"horovod/digits.ipynb ran in \d+ s on cores", template)
    squeue = ["squeue", "--noheader", "--user", USER, "--format=%j"]
    eventually(lambda: "portal-check" not in subprocess.check_output(squeue, text=True), 30)


def test_nodes_that_do_not_reach_the_hub_are_told_by_a_job(changed: Path) -> None:
    replaced(changed, "api_port = 8081", "api_port = 8099")

    exit_code, found = check(changed, "--user", USER, "--only", "trial")

    (finding,) = found["trial-jupyter"]
    assert exit_code == 1
    assert "does not reach the hub at 10.77.0.1:8099" in finding["sentence"]
    assert "firewall" in finding["cure"]


def test_partitions_ldap_and_proxy_that_are_not_there_are_told_each(changed: Path) -> None:
    replaced(changed, "[partitions.jupyter]", "[partitions.v100]")
    replaced(changed, "ldap://127.0.0.1:389", "ldap://127.0.0.1:390")
    replaced(changed, "http://127.0.0.1:8001", "http://127.0.0.1:8002")

    exit_code, found = check(changed)

    assert exit_code == 1
    assert found["partitions"][0]["cure"].endswith("Slurm has: jupyter.")
    assert "does not answer" in found["ldap"][0]["sentence"]
    assert "nothing answers" in found["proxy"][0]["sentence"]
    assert found["slurm"][0]["grade"] == "ok"
    assert found["trial-v100"][0]["grade"] == "skipped"


def test_what_neighbours_and_those_who_left_would_find_is_told(changed: Path) -> None:
    _, before = check(changed, "--only", "hardening")
    replaced(changed, 'reader_dn = "', 'reader_dn = "" # "')

    _, after = check(changed, "--only", "hardening")

    said = [one["sentence"] for one in before["hardening"] if one["grade"] == "ok"]
    assert "log, database, cookie secret and tokens are for their owner only." in said
    assert "accounts are checked again every 5 minutes." in said
    grades = {one["sentence"].split()[0]: one["grade"] for one in after["hardening"]}
    assert grades["users"] == "warning", "nobody looks at LDAP again"


def test_the_check_looks_at_each_cluster_and_tries_a_job_on_it(
    volta: SecondCluster, changed: Path
) -> None:
    changed.write_text(changed.read_text() + OWN_TABLE)
    own = ("slurm", "programs", "partitions", "trial")
    only = [word for name in own for word in ("--only", f"{name}-{NAME}")]

    _, found = check(changed, "--user", USER, *only)
    assert {one["grade"] for ones in found.values() for one in ones} == {"ok"}
    assert set(found) == {*(f"{name}-{NAME}" for name in own[:3]), f"trial-{NAME}-{PARTITION}"}

    CLUSTERS.write_text("")
    _, found = check(changed, "--only", f"programs-{NAME}", "--only", "slurm")
    grades = {name: ones[0]["grade"] for name, ones in found.items()}
    assert grades[f"programs-{NAME}"] == "problem"
    assert grades["slurm"] == grades[f"slurm-{NAME}"] == "ok"
