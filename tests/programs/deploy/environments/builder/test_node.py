"""Packages of npm from a lock file, with a stand-in for npm."""

from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder.node import LOCKED, NPM_HINT, install_locked
from deploy.environments.builder.plan import Plan

NPM = '#!/bin/sh\nmkdir node_modules && echo "$*" > node_modules/arguments\n'


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    plan = Plan(prefix=tmp_path / "prefix")
    npm = plan.node_dir / "bin/npm"
    npm.parent.mkdir(parents=True)
    npm.write_text(NPM)
    npm.chmod(0o755)
    return plan


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    folder = tmp_path / "recipe"
    folder.mkdir()
    for name in LOCKED:
        (folder / name).write_text(name)
    return folder


def test_npm_installs_the_lock_file_and_runs_no_script(
    plan: Plan, recipe: Path, tmp_path: Path
) -> None:
    folder = plan.prefix / "proxy.new"
    (folder / "left by a build that failed").mkdir(parents=True)

    with (tmp_path / "log").open("w") as log:
        install_locked(plan, recipe, folder, log, options=["--omit=dev"])

    arguments = (folder / "node_modules/arguments").read_text().split()
    assert arguments[:2] == ["ci", "--omit=dev"]
    assert "--ignore-scripts" in arguments
    assert sorted(path.name for path in folder.iterdir()) == ["node_modules", *sorted(LOCKED)]


def test_a_failure_of_npm_says_what_to_try(plan: Plan, recipe: Path, tmp_path: Path) -> None:
    (plan.node_dir / "bin/npm").write_text("#!/bin/sh\nexit 1\n")

    with (tmp_path / "log").open("w") as log, pytest.raises(DeployError) as error:
        install_locked(plan, recipe, plan.prefix / "axe.new", log)

    assert error.value.next_step == NPM_HINT
