"""The suites that the workflows and the hooks name are those of tests/run."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import TIERS
from tests.suites import BY_NAME

CHECKOUT = Path(__file__).parents[3]
WORKFLOWS = sorted((CHECKOUT / ".github/workflows").glob("*.yml"))


def read(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def suites_run_by(commands: list[str]) -> set[str]:
    words = [shlex.split(command) for command in commands]
    return {name for first, *names in words if first == "tests/run" for name in names}


def test_the_workflow_for_a_release_offers_every_suite() -> None:
    workflow = read(CHECKOUT / ".github/workflows/release.yml")
    # YAML 1.1 reads the key "on" as true.
    suite = workflow[True]["workflow_dispatch"]["inputs"]["suite"]

    assert suite["options"] == list(BY_NAME)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_suites_that_exist(path: Path) -> None:
    steps = [step for job in read(path)["jobs"].values() for step in job["steps"]]
    named = suites_run_by([step["run"] for step in steps if "run" in step])

    assert named or path.stem == "advisories"
    assert named - {*BY_NAME, *TIERS, "$SUITE"} == set()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_actions_of_one_commit_each(path: Path) -> None:
    steps = [step for job in read(path)["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]

    # A tag may name another commit tomorrow.
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one)] == []


def test_workflows_run_in_the_image_of_one_digest_that_the_container_begins_with() -> None:
    text = (CHECKOUT / "Containerfile").read_text()
    (base,) = re.findall(r"^FROM docker\.io/library/(\S+)$", text, re.MULTILINE)
    jobs = [job for path in WORKFLOWS for job in read(path)["jobs"].values()]
    used = [job["container"] for job in jobs if "container" in job]

    assert re.fullmatch(r"debian:12@sha256:[0-9a-f]{64}", base)
    assert used
    assert {one if isinstance(one, str) else one["image"] for one in used} == {base}


def test_the_hooks_of_pre_commit_run_suites_that_exist() -> None:
    hooks = read(CHECKOUT / ".pre-commit-config.yaml")["repos"][0]["hooks"]

    assert suites_run_by([hook["entry"] for hook in hooks]) == {"lint", "types"}
