"""The command line of tests/run."""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from tempfile import TemporaryFile

from deploy.common.errors import DeployError, report_failure
from deploy.environments.builder.package_sources import SETTING
from tests import second_tries
from tests.lab.gpu.command import run_gpu
from tests.needs import ensure_packages, packages_of, targets_of
from tests.readable_copy import is_readable_by_all, readable_copy
from tests.results import Counts
from tests.suites import (
    BIN_DIR,
    BY_NAME,
    CHECKOUT,
    IS_ROOT,
    NOT_OF_RELEASE,
    PREFIX,
    SUITES,
    Suite,
    divide,
    run_suite,
)
from tests.support.machine_packages import packages_of_machine
from tests.support.put_back import LEFT_DIR

BUILD = ("/usr/bin/python3", "-B", "-m", "tests.targets")
PUT_BACK = (str(BIN_DIR / "python"), "-m", "tests.support.put_back")
TIERS = ("push", "all")
N_SLOWEST = 20
UNTRIED = "never tried here: real GPUs, which need other machines"
EPILOG = """\
'push', or no name: what every change must pass. It leaves out the tests marked 'release', which are
most template notebooks and the long faults of Slurm, and whole suites: bench, which measures,
slurm-versions, which tries newer Slurms, platforms, which sets up a machine of each Debian,
environments, which installs everything from the ordinary index alone, site-frameworks, which runs
templates on an installed site, alone, which puts the spawner into a stock JupyterHub, container,
which builds and runs the image, optional, which builds Horovod with MPI and MXNet, packages, which
makes a release and installs its files, mutation, which puts faults into modules and counts those
that tests notice, faults, which breaks a cluster of its own in many ways, and nfs, which puts homes
on a real NFS server. 'all', before a release, has everything, and so has a suite that is named
itself.
Neither tries real GPUs, which need other machines; 'tests/run gpu --help' is about the suite for a
machine with a GPU.
A test that fails is run once more, at most five of a suite. If it passes then, it is named and
recorded in tests/second_tries.jsonl. A test that is in the record already fails the run, and so
does a skip that tests/results.py does not allow, and a suite without a test.
What follows '--' goes to pytest: tests/run unit -- -k ldap
"""


def main(argv: Sequence[str]) -> int:
    """Run the suites that were named, then sum up.

    Returns:
        0 if tests ran and none failed, 1 otherwise, 130 when interrupted.
    """
    # A shell starts what runs in its background with interrupts ignored, and programs inherit that:
    # kernels under test could not be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if argv and argv[0] == "gpu":
        return run_gpu(argv[1:])
    suites, pytest_arguments = parse_arguments(argv)
    # What the tests make for other users must be theirs to read.
    os.umask(0o022)
    if IS_ROOT and any(suite.needs_root for suite in suites) and not is_readable_by_all(CHECKOUT):
        with readable_copy(CHECKOUT) as copy:
            print(f"Other users cannot read {CHECKOUT}: testing a copy of it.", flush=True)
            return subprocess.run([copy / "tests/run", *argv], check=False).returncode
    os.environ[SETTING] = packages_of_machine(os.environ)
    counts: dict[str, Counts] = {}
    try:
        if prepare(suites, counts):
            run_suites(suites, pytest_arguments, counts)
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    judge_second_tries(counts)
    print(summary(counts, gaps(suites)))
    n_failed = sum(c.n_failed for c in counts.values())
    n_passed = sum(c.n_passed for c in counts.values())
    return 0 if n_passed and not n_failed else 1


def judge_second_tries(counts: dict[str, Counts]) -> None:
    """Record the tests of a run that passed only at the second try; some of them fail it."""
    tries = [test for c in counts.values() for test in c.second_tries]
    if failures := second_tries.judge(tries):
        counts["second tries"] = Counts(n_failed=len(failures), failures=tuple(failures))


def parse_arguments(argv: Sequence[str]) -> tuple[list[Suite], list[str]]:
    """Read the command line.

    Returns:
        The suites to run, in their fixed order, and further arguments for pytest.
    """
    words = list(argv)
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="tests/run",
        description="Test the portal; suites on the cluster start it with deploy/up.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ", ".join(BY_NAME)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"push, all, {names}")
    named = parser.parse_args(words[:cut]).suites
    for name in named:
        if name not in {*TIERS, *BY_NAME}:
            parser.error(f"no suite '{name}'. There are: {', '.join(TIERS)}, {names}.")
        if name in BY_NAME and not BY_NAME[name].exists:
            parser.error(f"there are no tests in tests/{BY_NAME[name].folder}.")
    suites = list(_wanted(set(named) or {"push"}))
    if not IS_ROOT and (of_root := [suite.name for suite in suites if suite.needs_root]):
        rest = ", ".join(suite.name for suite in SUITES if not suite.needs_root)
        parser.error(f"only root can run {', '.join(of_root)}. Without root: {rest}.")
    return suites, words[cut + 1 :]


def _wanted(named: set[str]) -> Iterator[Suite]:
    """Yield the suites that names stand for; those of a push without what belongs to a release."""
    for suite in SUITES:
        if not suite.exists:
            continue
        if suite.name in named or "all" in named:
            yield suite
        elif "push" in named and suite.is_default:
            marks = () if suite.commands else (NOT_OF_RELEASE,)
            yield replace(suite, marks=(*suite.marks, *marks))


def prepare(suites: Sequence[Suite], counts: dict[str, Counts]) -> bool:
    """Install what the tests need."""
    try:
        ensure_packages(*packages_of(suites))
    except DeployError as error:
        report_failure(error, "tests/run")
        counts["packages"] = Counts(n_failed=1)
        return False
    if any(suite.needs_kernels for suite in suites):
        build = (*BUILD, "apptainer", "image")
        # Of a release that Debian changes daily: an index may be older than what it names.
        if not (_step("images", build, counts) or _step("images", build, counts)):
            return False
    where = () if IS_ROOT else ("--prefix", str(PREFIX), "--logs", str(PREFIX / "logs"))
    return _step("environment", (*BUILD, *where, *targets_of(suites)), counts)


def run_suites(
    suites: Sequence[Suite], pytest_arguments: Sequence[str], counts: dict[str, Counts]
) -> None:
    """Run suites, some of them side by side; start the portal before the first that needs it."""
    of_portal, beside = divide(suites)
    quick = [s for s in of_portal if s.folder and not s.needs_cluster and s.is_default]
    checks = [suite for suite in of_portal if suite.commands]
    if quick and checks:
        with _beside(checks, [], counts):
            for suite in quick:
                _run(suite, pytest_arguments, counts)
    of_portal = [suite for suite in of_portal if suite.name not in counts]
    with ExitStack() as stack:
        for suite in of_portal:
            if suite.needs_cluster and "deploy/up" not in counts:
                _start_portal(counts)
            if suite.needs_cluster and counts["deploy/up"].n_failed:
                print(f"\n== {suite.name}: not run, because deploy/up failed", flush=True)
                continue
            if suite.is_gentle and NOT_OF_RELEASE in suite.marks:
                beside.append(suite)
                continue
            if suite.is_alone:
                stack.close()
            elif suite.needs_cluster and beside:
                stack.enter_context(_beside(beside, pytest_arguments, counts))
                beside = []
            _run(suite, pytest_arguments, counts)
        # There was nothing for them to run beside.
        is_up = "deploy/up" in counts and not counts["deploy/up"].n_failed
        for suite in beside:
            if is_up or not suite.is_split:
                _run(suite, pytest_arguments, counts)


def _start_portal(counts: dict[str, Counts]) -> None:
    """Start the portal as it is without what a run that was killed has left."""
    is_changed = any(LEFT_DIR.glob("*.json"))
    _step("deploy/up", ["deploy/up"], counts)
    _step("put back", PUT_BACK, counts)
    if is_changed:
        _step("deploy/up", ["deploy/up"], counts)


def _run(suite: Suite, pytest_arguments: Sequence[str], counts: dict[str, Counts]) -> None:
    print(f"\n== {suite.name}", flush=True)
    counts[suite.name] = run_suite(suite, pytest_arguments)


@contextmanager
def _beside(
    suites: Sequence[Suite], pytest_arguments: Sequence[str], counts: dict[str, Counts]
) -> Iterator[None]:
    """Run suites one after the other beside what runs in the context, and print at its end."""
    names = ", ".join(suite.name for suite in suites)
    print(f"\n== {names}: beside what follows, and printed after it", flush=True)
    with TemporaryFile() as output, ThreadPoolExecutor(max_workers=1) as executor:
        results = [executor.submit(run_suite, suite, pytest_arguments, output) for suite in suites]
        try:
            yield
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise
        for suite, result in zip(suites, results, strict=True):
            counts[suite.name] = result.result()
        output.seek(0)
        print(f"\n== {names}\n{output.read().decode(errors='replace')}", flush=True)


def _step(name: str, command: Sequence[str], counts: dict[str, Counts]) -> bool:
    """Run a command that the tests build upon; only its failure counts."""
    print(f"\n== {name}", flush=True)
    before = time.monotonic()
    status = subprocess.run(
        [CHECKOUT / command[0], *command[1:]], cwd=CHECKOUT, check=False
    ).returncode
    took_s = time.monotonic() - before
    counts[name] = Counts(n_failed=int(status != 0), took_s=took_s)
    return status == 0


def gaps(suites: Sequence[Suite]) -> list[str]:
    """Return in words what a run of these suites says nothing about; none for a selection."""
    if any(suite.is_default and suite.name not in {s.name for s in suites} for suite in SUITES):
        return []
    left_out = [suite.name for suite in SUITES if suite.name not in {s.name for s in suites}]
    lines = []
    if left_out:
        lines.append(f"left to 'tests/run all': {', '.join(left_out)}")
    if any(NOT_OF_RELEASE in suite.marks for suite in suites):
        lines.append("left to 'tests/run all' or the suite by its name: tests marked 'release'")
    return [*lines, UNTRIED]


def summary(counts: Mapping[str, Counts], untried: Sequence[str] = ()) -> str:
    """Return the closing table and, as its last line, the sums.

    Returns:
        Several lines; the last is such as "12 passed, 0 failed, 1 skipped".
    """
    lines = ["", *(failure for c in counts.values() for failure in c.failures)]
    lines += ["", f"{'suite':<16}{'passed':>8}{'failed':>8}{'skipped':>9}{'time':>10}{'CPU':>10}"]
    for name, c in counts.items():
        cpu = f"{c.cpu_s:>8.1f} s" if c.cpu_s else ""
        counted = f"{c.n_passed:>8}{c.n_failed:>8}{c.n_skipped:>9}{c.took_s:>8.1f} s"
        lines.append(f"{name:<16}{counted}{cpu}")
    lines += _details(counts)
    if untried:
        lines += ["", *untried]
    n_passed = sum(c.n_passed for c in counts.values())
    n_failed = sum(c.n_failed for c in counts.values())
    n_skipped = sum(c.n_skipped for c in counts.values())
    lines += ["", f"{n_passed} passed, {n_failed} failed, {n_skipped} skipped"]
    return "\n".join(lines)


def _details(counts: Mapping[str, Counts]) -> list[str]:
    """Return why tests were skipped, which needed a second try, and which took longest."""
    lines = []
    if skips := [(n, f"{name}: {why}") for name, c in counts.items() for why, n in c.skips]:
        lines += ["", "skipped", *(f"{n:>5}  {why:.150}" for n, why in skips)]
    if second_tries := [test for c in counts.values() for test in c.second_tries]:
        lines += ["", "passed only at the second try", *second_tries]
    durations = sorted((-s, test) for c in counts.values() for test, s in c.durations)
    if durations:
        slowest = durations[:N_SLOWEST]
        lines += ["", "slowest tests", *(f"{-s:>6.1f} s  {test}" for s, test in slowest)]
    return lines
