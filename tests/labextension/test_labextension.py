"""The labextension: formatted, linted, tested, and built from its sources as it is committed."""

import filecmp
import shutil
import subprocess
from pathlib import Path

import pytest

from deploy.environments.builder.node import npm_environment
from deploy.environments.builder.plan import Plan
from tests.targets import labextension_modules

SERVER = Path(__file__).parents[2] / "portal/server"
BUILT = SERVER / "labextension"
OUTPUTS = ("build", "lib", "node_modules")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that nothing is written into the checkout."""
    copy = tmp_path_factory.mktemp("labextension") / "sources"
    shutil.copytree(SERVER / "labextension_src", copy, ignore=shutil.ignore_patterns(*OUTPUTS))
    (copy / "node_modules").symlink_to(labextension_modules(Plan()))
    return copy


def npm_run(sources: Path, script: str) -> None:
    plan = Plan()
    done = subprocess.run(
        [plan.node_dir / "bin/npm", "run", script],
        cwd=sources,
        env=npm_environment(plan),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"npm run {script}\n{done.stdout}", pytrace=False)


@pytest.mark.parametrize("script", ["prettier:check", "eslint:check", "test"])
def test_the_sources_pass_their_checks(sources: Path, script: str) -> None:
    npm_run(sources, script)


def test_the_committed_build_is_of_these_sources(sources: Path) -> None:
    npm_run(sources, "build")
    built = sources.parent / "labextension"
    files = {str(path.relative_to(built)) for path in built.rglob("*") if path.is_file()}
    committed = {str(path.relative_to(BUILT)) for path in BUILT.rglob("*") if path.is_file()}

    assert committed == files, "build it again: portal/server/labextension_src/README.md"
    assert filecmp.cmpfiles(built, BUILT, sorted(files), shallow=False)[1:] == ([], [])
