"""The parts of the test command: what each runs, what it needs, and how it counts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment

CHECKOUT = Path(__file__).resolve().parents[1]
OUTPUT_DIR = CHECKOUT / "tests" / "output"
BIN_DIR = Plan().environment("test") / "bin"
# Ends a suite that hangs; the longest one, with real trainings, takes minutes.
TIMEOUT_S = 3600
PYTEST_RAN_NO_TEST = 5
N_REASON_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How the tests of one suite ended.

    Args:
        n_passed: Tests that passed.
        n_failed: Tests that failed or could not be run.
        n_skipped: Tests that said why they cannot be run here.
        took_s: Wall-clock time, seconds.
        failures: Each failed test with the lines that say why.
    """

    n_passed: int = 0
    n_failed: int = 0
    n_skipped: int = 0
    took_s: float = 0.0
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One part of the test command.

    Args:
        name: Its name on the command line.
        commands: Checks that pass or fail as a whole; none for a folder of tests.
        folder: Folder of tests under tests/; empty for checks.
        options: Options of pytest for this folder.
        needs_cluster: Whether the portal must run on this machine.
        needs_browser: Whether it drives a browser.
        needs_kernels: Whether it starts kernels from modules, images and Jython.
        is_default: Whether it runs when no suite is named.
    """

    name: str
    commands: tuple[tuple[str, ...], ...] = ()
    folder: str = ""
    options: tuple[str, ...] = ()
    needs_cluster: bool = True
    needs_browser: bool = False
    needs_kernels: bool = False
    is_default: bool = True

    @property
    def exists(self) -> bool:
        """Whether there is something to run."""
        tests = (CHECKOUT / "tests" / self.folder).rglob("test_*.py") if self.folder else ()
        return bool(self.commands) or any(tests)


def python_programs() -> list[str]:
    """Return the programs that are written in Python but not named so.

    Returns:
        Paths under the checkout.
    """
    folders = (CHECKOUT / "deploy", CHECKOUT / "tests")
    files = (path for folder in folders for path in folder.rglob("*") if not path.suffix)
    programs = [path for path in files if path.is_file() and _is_python(path)]
    return sorted(str(path.relative_to(CHECKOUT)) for path in programs)


def _is_python(path: Path) -> bool:
    with path.open("rb") as file:
        first_line = file.readline(100)
    return first_line.startswith(b"#!") and b"python" in first_line


# Tests that share a running program stay in one process. One that hangs shows where, and fails.
UNIT_OPTIONS = (
    *("-n", "auto", "--dist", "loadfile", "--max-worker-restart", "0"),
    *("-o", "faulthandler_timeout=60", "-o", "faulthandler_exit_on_timeout=true"),
)
RUFF = str(BIN_DIR / "ruff")
SUITES = (
    Suite(
        name="lint",
        commands=(
            (RUFF, "check", ".", *python_programs()),
            (RUFF, "format", "--check", ".", *python_programs()),
        ),
        needs_cluster=False,
    ),
    Suite(name="types", commands=((str(BIN_DIR / "mypy"),),), needs_cluster=False),
    Suite(name="unit", folder="unit", options=UNIT_OPTIONS, needs_cluster=False),
    Suite(name="deploy", folder="deploy"),
    # It brings a cluster of its own, but takes packages and environments that deploy/up has made.
    Suite(name="site", folder="foreign"),
    Suite(name="slurm", folder="slurm"),
    Suite(name="server", folder="server", needs_browser=True, needs_kernels=True),
    Suite(name="hub", folder="hub", needs_browser=True),
    Suite(name="browser", folder="browser", needs_browser=True),
    Suite(name="templates", folder="templates"),
    Suite(
        name="slurm-versions",
        folder="slurm_versions",
        options=("-s",),
        needs_cluster=False,
        is_default=False,
    ),
    Suite(name="bench", folder="benchmarks", is_default=False),
)
BY_NAME = {suite.name: suite for suite in SUITES}


def run_suite(suite: Suite, pytest_arguments: Sequence[str]) -> Counts:
    """Run one suite to its end, with its output on the terminal.

    Args:
        suite: The suite.
        pytest_arguments: Further arguments for pytest, such as ["-k", "ldap"].

    Returns:
        How its tests ended.
    """
    before = time.monotonic()
    failures: tuple[str, ...] = ()
    if suite.commands:
        statuses = [_status_of(command) for command in suite.commands]
        n_passed, n_failed, n_skipped = statuses.count(0), len(statuses) - statuses.count(0), 0
    else:
        n_passed, n_failed, n_skipped = _run_pytest(suite, pytest_arguments)
        failures = read_failures(_report_of(suite))
    return Counts(
        n_passed=n_passed,
        n_failed=n_failed,
        n_skipped=n_skipped,
        took_s=time.monotonic() - before,
        failures=failures,
    )


def _run_pytest(suite: Suite, arguments: Sequence[str]) -> tuple[int, int, int]:
    OUTPUT_DIR.mkdir(exist_ok=True)
    report = _report_of(suite)
    report.unlink(missing_ok=True)
    pytest = [str(BIN_DIR / "python"), "-m", "pytest", "-q", f"--junitxml={report}"]
    status = _status_of(
        [*pytest, *suite.options, str(CHECKOUT / "tests" / suite.folder), *arguments]
    )
    return with_status(read_report(report), status)


def with_status(counted: tuple[int, int, int], status: int) -> tuple[int, int, int]:
    """Let a run that pytest calls unsuccessful count as a failure even if no test failed.

    Args:
        counted: Numbers of passed, failed and skipped tests in its report.
        status: Exit status of pytest: 0 for success, 5 where no test was selected.

    Returns:
        The numbers, with at least one failure for any other status.

    Source:
        https://docs.pytest.org/en/stable/reference/exit-codes.html
    """
    n_passed, n_failed, n_skipped = counted
    is_success = status in {0, PYTEST_RAN_NO_TEST}
    return n_passed, n_failed or int(not is_success), n_skipped


def read_report(path: Path) -> tuple[int, int, int]:
    """Count the tests in a report of pytest.

    Args:
        path: JUnit XML; may be missing or cut off.

    Returns:
        Numbers of passed, failed and skipped tests.
    """
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return 0, 0, 0
    kinds = [{child.tag for child in case} for case in cases]
    n_failed = sum(bool(kind & {"failure", "error"}) for kind in kinds)
    n_skipped = sum("skipped" in kind for kind in kinds)
    return len(cases) - n_failed - n_skipped, n_failed, n_skipped


def read_failures(path: Path) -> tuple[str, ...]:
    """Return what failed in a report of pytest, and why.

    Args:
        path: JUnit XML; may be missing or cut off.

    Returns:
        For each failure the name of the test and the last lines that pytest marks with "E".
    """
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return ()
    failures = []
    for case in cases:
        for found in (*case.iter("failure"), *case.iter("error")):
            marked = [line for line in (found.text or "").splitlines() if line.startswith("E ")]
            reasons = marked[-N_REASON_LINES:] or [str(found.get("message", ""))]
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            failures.append("\n".join([name, *(f"  {line:.300}" for line in reasons)]))
    return tuple(failures)


def _report_of(suite: Suite) -> Path:
    return OUTPUT_DIR / f"{suite.name}.xml"


def _status_of(command: Sequence[str]) -> int:
    environment = clean_environment(
        PATH=f"{BIN_DIR}:{SYSTEM_PATH}",
        PYTHONPATH=str(CHECKOUT),
        PYTHONDONTWRITEBYTECODE="1",
    )
    try:
        return subprocess.run(
            command, cwd=CHECKOUT, env=environment, timeout=TIMEOUT_S, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"ended after {TIMEOUT_S} s: {' '.join(command)}", flush=True)
        return 124
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", flush=True)
        return 127
