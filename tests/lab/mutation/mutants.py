"""Mutants of one module, made and run by mutmut in a copy of the checkout."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import distribution
from pathlib import Path

from deploy.environments.builder.plan import Plan
from tests.lab.mutation.equivalents import Change
from tests.lab.mutation.modules import MutatedModule
from tests.lab.mutation.sampled_mutmut import ALL_TESTS, HELD_OUT, Sample

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
FINGERPRINT = "fingerprint"
DONE, DONE_HELD_OUT = "done", "done-held-out"
# What takes this many times as long as without a mutant is ended; then it is tried once more with
# the second limit, for a busy machine must not count as a mutant that hangs.
LIMITS_OF_TIME = (5.0, 25.0)
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
timeout_multiplier = {multiplier}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One changed place.

    Args:
        name: mutmut's name, which `mutmut show` takes.
    """

    name: str
    change: Change
    outcome: Outcome


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


def settings_of(module: MutatedModule, multiplier: float) -> str:
    """Return mutmut's table for pyproject.toml; for `multiplier` see LIMITS_OF_TIME."""
    others = [*(name for name in COPIED_DIRS if name not in (*PACKAGES, "tests")), *COPIED_FILES]
    return SETTINGS.format(
        packages=json.dumps([*PACKAGES, "dsportal"]),
        modules=json.dumps([path_in_copy(module)]),
        also_copy=json.dumps(others),
        tests=json.dumps(module.tests),
        patterns=json.dumps([LOGGING]),
        multiplier=multiplier,
    )


def run_mutants(
    module: MutatedModule, sample: Sample, draw: Callable[[int, int], None]
) -> list[Mutant]:
    """Run mutants of a module, or those that an interrupted call left.

    `draw` is called with the mutants that are done and all that are to be done.

    Returns:
        All mutants, those that the sample leaves out as not run.
    """
    if module.environment and not Plan().environment(module.environment).is_dir():
        raise MutationError(
            f"The tests of {module.path} need the environment {module.environment}. "
            "Run deploy/up, which builds it."
        )
    folder = WORK_DIR / module.name
    prepare(module, folder)
    done = folder / (DONE_HELD_OUT if sample.is_held_out else DONE)
    if not (done.is_file() and is_enough(int(done.read_text()), sample.n_most)):
        for multiplier in LIMITS_OF_TIME:
            settings = (CHECKOUT / "pyproject.toml").read_text() + settings_of(module, multiplier)
            (folder / "pyproject.toml").write_text(settings)
            # With another limit mutmut tries again what was ended for its time, and no more.
            run_mutmut(module, folder, sample, draw)
            outcomes = {mutant.outcome for mutant in read_mutants(module, folder)}
            if Outcome.TIMED_OUT not in outcomes:
                break
        done.write_text(str(sample.n_most))
    return read_mutants(module, folder)


def is_enough(n_done: int, n_most: int) -> bool:
    """Return whether a sample has all of another; 0 is that of all mutants."""
    return n_done == 0 or 0 < n_most <= n_done


def run_mutmut(
    module: MutatedModule, folder: Path, sample: Sample, draw: Callable[[int, int], None]
) -> None:
    """Let mutmut try what has no result yet; see `run_mutants`."""
    argv = ["nice", "-n", "19", sys.executable, "-P", str(PROGRAM), str(sample.n_most)]
    argv += [HELD_OUT] if sample.is_held_out else []
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
                n_tried = min(n_all, sample.n_most or n_all)
                # A larger sample may have been tried before.
                draw(min(n_done, n_tried), n_tried)
    if process.returncode:
        lines = printed.decode(errors="replace").replace("\r", "\n").splitlines()
        # Without the steps of its spinner.
        tail = [line for line in lines if not "⠀" <= line[:1] <= "⣿"][-40:]
        raise MutationError("\n".join([f"mutmut failed for {module.path}:", *tail]))


def prepare(module: MutatedModule, folder: Path) -> None:
    """Copy the checkout, unless `folder` has what an interrupted run of the same code left."""
    fingerprint = fingerprint_of(module)
    stamp = folder / FINGERPRINT
    if stamp.is_file() and stamp.read_text() == fingerprint:
        return
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
    stamp.write_text(fingerprint)


def path_in_copy(module: MutatedModule) -> str:
    """Return where the module is below the copy of the checkout."""
    return module.path.removeprefix(f"{PROJECT}/")


def fingerprint_of(module: MutatedModule) -> str:
    """Return a hash of what decides the outcome: the packages, the tests, what these share."""
    shared = [CHECKOUT / "tests" / "support", *(CHECKOUT / name for name in PACKAGES)]
    tests = [CHECKOUT / name for name in module.tests]
    files = [Path(__file__), *tests]
    files += [path for test in tests for path in test.parent.glob("*_cases.py")]
    files += [path for folder in shared for path in folder.rglob("*.py")]
    digest = hashlib.sha256(settings_of(module, 0).encode())
    for path in sorted(path for path in files if path.is_file()):
        digest.update(str(path.relative_to(CHECKOUT)).encode() + path.read_bytes())
    return digest.hexdigest()


def read_mutants(module: MutatedModule, folder: Path) -> list[Mutant]:
    """Read what mutmut left beside the mutated module."""
    mutated = folder / "mutants" / path_in_copy(module)
    codes = json.loads(mutated.with_name(f"{mutated.name}.meta").read_text())["exit_code_by_key"]
    spans = json.loads(mutated.with_name(f"{mutated.name}.spans").read_text())["spans"]
    lines = mutated.read_text().splitlines()
    return [
        Mutant(name=name, change=change_of(name, spans, lines), outcome=read_outcome(code))
        for name, code in codes.items()
    ]


def change_of(name: str, spans: Mapping[str, Sequence[int]], lines: Sequence[str]) -> Change:
    """Find what a mutant changes.

    `name` is as in "spawner.options.limits.x_joined__mutmut_3"; `spans` has the first and the last
    line of each function in `lines`, counted from 1.
    """
    mutated = name.rpartition(".")[2]
    function = mutated.rpartition("__mutmut_")[0]
    original = f"{function}__mutmut_orig"
    before, after = (lines[spans[key][0] - 1 : spans[key][1]] for key in (original, mutated))
    # "x_joined" is a function, "xǁLimitsǁmost" a method.
    is_method = function.startswith("xǁ")
    *parts, plain = function[2:].split("ǁ") if is_method else [function[2:]]
    # The first line has the name of the function, which differs in any case.
    before = [line.replace(original, plain) for line in before]
    after = [line.replace(mutated, plain) for line in after]
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return Change(".".join([*parts, plain]), _joined(before), _joined(after))


def _joined(lines: Sequence[str]) -> str:
    return " ".join(line.strip() for line in lines)
