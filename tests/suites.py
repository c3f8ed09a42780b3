"""The parts of the test command: what each runs and what it needs."""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment
from tests.results import Counts, Result, count, read_cpu_s, read_results, with_cpu
from tests.support.checkout import PYTHONPATH

CHECKOUT = Path(__file__).resolve().parents[1]
OUTPUT_DIR = CHECKOUT / "tests" / "output"
# Who is not root has an environment of his own.
IS_ROOT = os.geteuid() == 0
PREFIX = Plan().prefix if IS_ROOT else Path.home() / ".cache/data-scientist-portal"
BIN_DIR = Plan(prefix=PREFIX).environment("test") / "bin"
# Ends a suite that hangs; the longest one, with real trainings, takes minutes.
TIMEOUT_S = 3600
# All suites, on one Debian after the other.
PLATFORMS_TIMEOUT_S = 6 * 3600
# All mutants of all modules, on a slow machine.
MUTATION_TIMEOUT_S = 8 * 3600
# Fifty faults, each with sessions that start, run and wait around it.
FAULTS_TIMEOUT_S = 4 * 3600
# All benchmarks, five rounds each.
BENCH_TIMEOUT_S = 3 * 3600
# Several times what unit takes on a quiet machine: a busy or an old one takes up to three times as
# long. More means tests that belong to programs.
UNIT_CPU_S = 60
# A slow machine can spoil a test of something that takes time. What fails in many places is broken,
# and a second try of all of it would only cost time.
MOST_TRIED_AGAIN = 5
SECOND_TRY = (
    *("-p", "tests.first_failures"),
    *("--reruns", "1", "--max-suite-reruns", str(MOST_TRIED_AGAIN)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One part of the test command.

    Args:
        commands: Checks that pass or fail as a whole; none for a folder of tests.
        folder: Folder of tests under tests/; empty for checks.
        marks: Conditions on the marks of its tests, such as "not release"; all must hold.
        needs_root: Whether its tests run programs as other users, or change the machine.
        needs_front_end: Whether it starts the TLS front end of the example.
        is_alone: Whether nothing runs beside it, for it changes or lists files that others use.
        is_split: Whether only its tests with the mark "cluster" need the running portal; the others
            need what deploy/up has built.
        is_gentle: Whether a push leaves nothing of it that notices, or is noticed by, the suites
            after it: it runs beside them.
        most_cpu_s: CPU time that all its tests may take, seconds; None for any.
    """

    name: str
    commands: tuple[tuple[str, ...], ...] = ()
    folder: str = ""
    options: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    needs_root: bool = True
    needs_cluster: bool = True
    needs_browser: bool = False
    needs_kernels: bool = False
    needs_front_end: bool = False
    needs_labextension: bool = False
    needs_packaging: bool = False
    is_alone: bool = False
    is_split: bool = False
    is_gentle: bool = False
    is_default: bool = True
    is_tried_again: bool = True
    timeout_s: float = TIMEOUT_S
    most_cpu_s: float | None = None

    @property
    def exists(self) -> bool:
        """Whether there is something to run."""
        tests = (CHECKOUT / "tests" / self.folder).rglob("test_*.py") if self.folder else ()
        return bool(self.commands) or any(tests)


def on_request(name: str, *, folder: str = "", needs_cluster: bool = True) -> Suite:
    """Return a suite that runs only when it is named, and prints on its long way where it is."""
    return Suite(
        name=name,
        folder=f"lab/{folder or name.replace('-', '_')}",
        options=("-s",),
        needs_cluster=needs_cluster,
        is_alone=True,
        is_default=False,
    )


def divide(suites: Sequence[Suite]) -> tuple[list[Suite], list[Suite]]:
    """Divide suites: what needs no running portal runs beside those on it, which mostly wait.

    Returns:
        The suites in their order, of a split one what is on the portal; and what runs beside.
    """
    if sum(suite.needs_cluster for suite in suites) < 2:
        return list(suites), []
    of_portal = [
        replace(s, name=f"{s.name}-{OF_CLUSTER}", marks=(*s.marks, OF_CLUSTER)) if s.is_split else s
        for s in suites
        if s.needs_cluster or s.is_alone
    ]
    beside = [
        replace(s, marks=(*s.marks, f"not {OF_CLUSTER}"), needs_cluster=False) if s.is_split else s
        for s in suites
        if s.is_split or not (s.needs_cluster or s.is_alone)
    ]
    return of_portal, beside


def python_programs() -> list[str]:
    """Return the programs that are written in Python but not named so."""
    folders = (CHECKOUT / "deploy", CHECKOUT / "tests")
    files = (path for folder in folders for path in folder.rglob("*") if not path.suffix)
    # What a run leaves behind is not of the checkout.
    own = (path for path in files if OUTPUT_DIR not in path.parents)
    programs = [path for path in own if path.is_file() and _is_python(path)]
    return sorted(str(path.relative_to(CHECKOUT)) for path in programs)


def _is_python(path: Path) -> bool:
    with path.open("rb") as file:
        first_line = file.readline(100)
    return first_line.startswith(b"#!") and b"python" in first_line


# A test that hangs shows where, and fails. More processes would each import everything once more.
UNIT_OPTIONS = ("-o", "faulthandler_timeout=300", "-o", "faulthandler_exit_on_timeout=true")
# Tests that share a running program stay in one process.
PROGRAMS_OPTIONS = (
    *("-n", "auto", "--dist", "loadfile", "--max-worker-restart", "0"),
    *UNIT_OPTIONS,
)
# What 'push' leaves out of its suites: it is tried before a release, or by the suite's own name.
NOT_OF_RELEASE = "not release"
# Tests that need the running portal.
OF_CLUSTER = "cluster"
SPHINX = (
    *(str(BIN_DIR / "python"), "-m", "sphinx"),
    *("-q", "-W", "--keep-going", "-c", "docs", "-b", "html"),
)
SITE_DIR = OUTPUT_DIR / "docs"
RUFF = str(BIN_DIR / "ruff")
SUITES = (
    Suite(
        name="lint",
        commands=(
            (RUFF, "check", ".", *python_programs()),
            (RUFF, "format", "--check", ".", *python_programs()),
        ),
        needs_root=False,
        needs_cluster=False,
    ),
    Suite(
        name="types", commands=((str(BIN_DIR / "mypy"),),), needs_root=False, needs_cluster=False
    ),
    # -W: a warning, such as of a link to nowhere, fails.
    Suite(
        name="docs",
        commands=((*SPHINX, "-d", str(SITE_DIR / "cache"), ".", str(SITE_DIR / "html")),),
        needs_root=False,
        needs_cluster=False,
    ),
    Suite(name="labextension", folder="labextension", needs_cluster=False, needs_labextension=True),
    Suite(
        name="unit",
        folder="unit",
        options=UNIT_OPTIONS,
        needs_root=False,
        needs_cluster=False,
        most_cpu_s=UNIT_CPU_S,
    ),
    Suite(
        name="programs",
        folder="programs",
        options=PROGRAMS_OPTIONS,
        needs_cluster=False,
    ),
    Suite(name="deploy", folder="deploy", is_alone=True, is_split=True),
    Suite(name="slurm", folder="slurm"),
    Suite(name="server", folder="server", needs_browser=True, needs_kernels=True, is_split=True),
    Suite(
        name="hub",
        folder="hub",
        needs_browser=True,
        needs_front_end=True,
        is_split=True,
    ),
    Suite(name="browser", folder="browser", needs_browser=True),
    # It brings a cluster of its own, but takes packages and environments that deploy/up has made.
    Suite(name="site", folder="lab/foreign", is_alone=True, is_gentle=True),
    Suite(name="templates", folder="templates", is_gentle=True),
    # From here on no test of a push stops a part, changes a setting or holds the whole cluster.
    Suite(name="sessions", folder="sessions", needs_labextension=True),
    Suite(name="security", folder="security", is_split=True),
    on_request("slurm-versions", needs_cluster=False),
    replace(on_request("platforms", needs_cluster=False), timeout_s=PLATFORMS_TIMEOUT_S),
    on_request("environments", needs_cluster=False),
    # As site: the environments are those of this machine, unless it is told --fresh.
    on_request("site-frameworks", folder="foreign_frameworks"),
    # As site: a cluster of its own, and what deploy/up has built.
    on_request("alone"),
    on_request("container", needs_cluster=False),
    replace(on_request("optional"), needs_browser=True, needs_front_end=True),
    replace(on_request("packages"), needs_packaging=True),
    replace(on_request("mutation", needs_cluster=False), timeout_s=MUTATION_TIMEOUT_S),
    # As site. A fault that did not hold once did not hold, and its moments are random.
    replace(on_request("faults"), timeout_s=FAULTS_TIMEOUT_S, is_tried_again=False),
    Suite(name="nfs", folder="lab/nfs", is_alone=True, is_default=False),
    # A figure that misses its aim is measured again by hand, with a look at the machine.
    replace(
        on_request("bench", folder="benchmarks"), timeout_s=BENCH_TIMEOUT_S, is_tried_again=False
    ),
)
BY_NAME = {suite.name: suite for suite in SUITES}


def run_suite(
    suite: Suite, pytest_arguments: Sequence[str], output: IO[bytes] | None = None
) -> Counts:
    """Run one suite to its end.

    Args:
        pytest_arguments: Further arguments for pytest, such as ["-k", "ldap"].
        output: Takes what it prints; None for the terminal.
    """
    before = time.monotonic()
    if suite.commands:
        statuses = [_status_of(command, output=output) for command in suite.commands]
        n_passed = statuses.count(0)
        counts = Counts(n_passed=n_passed, n_failed=len(statuses) - n_passed)
    else:
        counts = _run_tests(suite, pytest_arguments, output)
        counts = with_cpu(counts, read_cpu_s(_report_of(suite)), suite.most_cpu_s)
    return replace(counts, took_s=time.monotonic() - before)


def _run_tests(suite: Suite, arguments: Sequence[str], output: IO[bytes] | None) -> Counts:
    folder = CHECKOUT / "tests" / suite.folder
    status, results = _run_pytest(suite, [folder, *arguments], output)
    return count(results, status, is_selection=bool(arguments))


def _run_pytest(
    suite: Suite, arguments: Sequence[str | Path], output: IO[bytes] | None
) -> tuple[int, tuple[Result, ...]]:
    report = _report_of(suite)
    OUTPUT_DIR.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    # Pytest's own place is shared with every other run of this user, which closes it to the users
    # that tests run programs as.
    with TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        pytest = [str(BIN_DIR / "python"), "-m", "pytest", "-q", f"--junitxml={report}"]
        marks = ("-m", " and ".join(suite.marks)) if suite.marks else ()
        again = SECOND_TRY if suite.is_tried_again else ()
        own = (f"--basetemp={folder}/t", *again, *suite.options, *marks)
        words = [*pytest, *own, *map(str, arguments)]
        status = _status_of(words, suite.timeout_s, output)
    return status, read_results(report)


def _report_of(suite: Suite) -> Path:
    return OUTPUT_DIR / f"{suite.name}.xml"


def _status_of(
    command: Sequence[str], timeout_s: float = TIMEOUT_S, output: IO[bytes] | None = None
) -> int:
    environment = clean_environment(
        PATH=f"{BIN_DIR}:{SYSTEM_PATH}",
        PYTHONPATH=PYTHONPATH,
        PYTHONDONTWRITEBYTECODE="1",
    )
    try:
        return subprocess.run(
            command,
            cwd=CHECKOUT,
            env=environment,
            stdout=output,
            stderr=output,
            timeout=timeout_s,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"ended after {timeout_s} s: {' '.join(command)}", flush=True)
        return 124
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", flush=True)
        return 127
