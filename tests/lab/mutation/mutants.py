"""Mutants of one module, made and run by mutmut in a copy of the checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from importlib.metadata import distribution
from pathlib import Path

from deploy.environments.builder.plan import Plan
from tests.lab.mutation.modules import MutatedModule
from tests.lab.mutation.sampled_mutmut import ALL_TESTS, Sample

CHECKOUT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("sampled_mutmut.py")
WORK_DIR = CHECKOUT / "tests" / "output" / "mutation"
PACKAGES = ("spawner", "portal")
# The project of `dsportal`. Its package is at the root of the copy: mutmut takes the name of a
# module from its path, and knows a mutant by it.
PROJECT = "portal/dsportal"
COPIED_DIRS = (*PACKAGES, "tests", "deploy", "docs", "notebook_templates")
COPIED_FILES = ("setup.cfg", "README.md", "CHANGELOG.md", "LICENSE")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "output", "node_modules", "mutants")
# What the log says is for reading, and no test pins it.
LOGGING = r"\b_?log(ger)?\.(debug|info|warning|error|exception)\("
SETTINGS = """
[tool.mutmut]
source_paths = {packages}
only_mutate = {modules}
also_copy = {also_copy}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:xdist"]
process_isolation = "forkserver"
do_not_mutate_patterns = {patterns}
timeout_constant = 3.0
timeout_multiplier = 15.0
use_git_change_detection = false
"""
_PROGRESS = re.compile(rb"(\d+)/(\d+)  ")


class Outcome(Enum):
    """How the tests of the module took one mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    NO_TESTS = "no tests"
    NOT_RUN = "not run"


class MutationError(Exception):
    """mutmut did not come to its end."""


def read_outcome(exit_code: int | None) -> Outcome:
    """Return how a mutant ended, by the exit status of its tests; None if they were not run.

    Source:
        status_by_exit_code in mutmut/stats.py
    """
    # 2: interrupted; 255: pytest did not start, which mutmut takes for the end of its time.
    if exit_code in (None, 2, 255):
        return Outcome.NOT_RUN
    if exit_code == 0:
        return Outcome.SURVIVED
    if exit_code in (5, 33):
        return Outcome.NO_TESTS
    # SIGXCPU and SIGKILL, with which mutmut ends what takes too long.
    if exit_code in (-24, -9, 24, 36, 152):
        return Outcome.TIMED_OUT
    return Outcome.KILLED


def settings_of(module: MutatedModule) -> str:
    """Return mutmut's table for pyproject.toml."""
    others = [*(name for name in COPIED_DIRS if name not in (*PACKAGES, "tests")), *COPIED_FILES]
    return SETTINGS.format(
        packages=json.dumps([*PACKAGES, "dsportal"]),
        modules=json.dumps([path_in_copy(module)]),
        also_copy=json.dumps(others),
        tests=json.dumps(module.tests),
        patterns=json.dumps([LOGGING]),
    )


def run_mutants(
    module: MutatedModule, sample: Sample, draw: Callable[[int, int], None]
) -> dict[str, Outcome]:
    """Return how the sampled mutants of a module ended, by their names, which `mutmut show` takes.

    `draw` is called with the mutants that are done and all that are to be done.
    """
    if module.environment and not Plan().environment(module.environment).is_dir():
        raise MutationError(
            f"The tests of {module.path} need the environment {module.environment}. "
            "Run deploy/up, which builds it."
        )
    folder = WORK_DIR / module.name
    copy_checkout(module, folder)
    settings = (CHECKOUT / "pyproject.toml").read_text() + settings_of(module)
    (folder / "pyproject.toml").write_text(settings)
    run_mutmut(module, folder, sample, draw)
    meta = folder / "mutants" / f"{path_in_copy(module)}.meta"
    codes = json.loads(meta.read_text())["exit_code_by_key"]
    return {name: read_outcome(codes[name]) for name in sample.choose(codes)}


def run_mutmut(
    module: MutatedModule, folder: Path, sample: Sample, draw: Callable[[int, int], None]
) -> None:
    """Let mutmut try the sample; see `run_mutants`."""
    argv = ["nice", "-n", "19", sys.executable, "-P", str(PROGRAM)]
    argv += [str(sample.n_most), sample.seed]
    argv += [ALL_TESTS] if module.environment else []
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    printed = bytearray()
    with subprocess.Popen(
        argv, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        while chunk := process.stdout.read1():
            printed += chunk
            if found := _PROGRESS.findall(chunk):
                n_done, n_all = map(int, found[-1])
                draw(n_done, min(n_all, sample.n_most or n_all))
    if process.returncode:
        lines = printed.decode(errors="replace").replace("\r", "\n").splitlines()
        # Without the steps of its spinner.
        tail = [line for line in lines if not "⠀" <= line[:1] <= "⣿"][-40:]
        raise MutationError("\n".join([f"mutmut failed for {module.path}:", *tail]))


def copy_checkout(module: MutatedModule, folder: Path) -> None:
    """Copy the checkout into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in COPIED_DIRS:
        shutil.copytree(CHECKOUT / name, folder / name, ignore=NOT_COPIED, symlinks=True)
    shutil.move(folder / PROJECT / "dsportal", folder / "dsportal")
    shutil.rmtree(folder / PROJECT)
    for name in COPIED_FILES:
        shutil.copy2(CHECKOUT / name, folder / name)
    if module.environment:
        # The mutated module imports it; that environment has none.
        installed = Path(str(distribution("mutmut").locate_file("")))
        for path in installed.glob("mutmut*"):
            shutil.copytree(path, folder / "mutants" / path.name)


def path_in_copy(module: MutatedModule) -> str:
    """Return where the module is below the copy of the checkout."""
    return module.path.removeprefix(f"{PROJECT}/")


def show(module: MutatedModule, name: str) -> str:
    """Return what a mutant changes, in mutmut's words."""
    argv = [sys.executable, "-P", "-m", "mutmut", "show", name]
    done = subprocess.run(argv, cwd=WORK_DIR / module.name, capture_output=True, text=True)
    return done.stdout + done.stderr
