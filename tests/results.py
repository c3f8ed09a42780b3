"""What a suite's report of pytest says, whether its skips are allowed, and how it counts."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

N_REASON_LINES = 12
# Where tests/conftest.py writes it.
CPU_PROPERTY = "cpu_s"
PYTEST_TESTS_FAILED = 1
PYTEST_RAN_NO_TEST = 5
# Where tests/first_failures.py writes why a test failed at its first try.
FIRST_FAILURE = "first_failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one test ended.

    Args:
        test: Such as "tests.hub.test_login::test_a_wrong_password_is_refused".
        failure: The last lines that say why; None if it did not fail.
        skip: Why it was skipped; None if it was not.
        passed_after: Why it failed at first, if it passed at the second try.
    """

    test: str
    took_s: float = 0.0
    failure: str | None = None
    skip: str | None = None
    passed_after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How the tests of one suite ended.

    Args:
        n_passed: Tests that passed, those at the second try among them.
        n_failed: Tests that failed or could not be run, and skips that are not allowed.
        skips: Each reason for a skip, with how often it was given.
        second_tries: Tests that passed only at the second try, with why they failed at first.
        cpu_s: CPU time of the tests and of what they started, seconds; 0 where nobody counts it.
    """

    n_passed: int = 0
    n_failed: int = 0
    n_skipped: int = 0
    took_s: float = 0.0
    failures: tuple[str, ...] = ()
    skips: tuple[tuple[str, int], ...] = ()
    second_tries: tuple[str, ...] = ()
    durations: tuple[tuple[str, float], ...] = ()
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSkip:
    """A skip that is known and accepted.

    Args:
        reason: Pattern of the reason that the test gives, found anywhere in it.
    """

    test: str
    reason: str

    def covers(self, result: Result) -> bool:
        """Whether this is why the test was skipped.

        Returns:
            True if both patterns are found.
        """
        found = re.match(self.test, result.test) and re.search(self.reason, result.skip or "")
        return found is not None


# Each needs something that a test machine does not have. Everything else that is skipped is a
# failure: a suite that skips what it should try would be green for nothing.
ALLOWED_SKIPS = (
    AllowedSkip(test=r"tests\.deploy\.test_one_machine", reason="control groups of version 1"),
    AllowedSkip(test=r"tests\.server\.test_tensorboard", reason="no user namespaces"),
    AllowedSkip(test="", reason="this cluster has real GPUs|machine with real GPUs"),
    AllowedSkip(
        test=r"tests\.(slurm\.test_postgres|programs\.portal\.hub\.test_database_lock)",
        reason="PostgreSQL is not installed",
    ),
    AllowedSkip(test=r"tests\.programs\.portal", reason="no environment of TensorFlow"),
    AllowedSkip(
        test=r"tests\.lab\.(slurm_versions|platforms|container|packages)",
        reason="needs root|cannot be had",
    ),
    AllowedSkip(test=r"tests\.lab\.foreign", reason="no FUSE here"),
    AllowedSkip(test=r"tests\.lab\.nfs", reason="NFS over FUSE needs"),
    AllowedSkip(test="", reason="/dev/fuse cannot be opened|FUSE cannot be mounted"),
)


def read_results(path: Path) -> tuple[Result, ...]:
    """Read a report of pytest.

    Args:
        path: JUnit XML; may be missing or cut off.

    Returns:
        One entry for each test, none for a report that cannot be read.
    """
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return ()
    # Each try of a test is a case; the last one counts.
    return tuple({result.test: result for result in map(_result_of, cases)}.values())


def read_cpu_s(path: Path) -> float:
    """Read the CPU time that a suite has written into its report.

    Args:
        path: JUnit XML; may be missing or cut off.

    Returns:
        Seconds; 0 if the report does not say.
    """
    try:
        properties = list(ElementTree.parse(path).getroot().iter("property"))
    except (OSError, ElementTree.ParseError):
        return 0.0
    found = (one.get("value", "0") for one in properties if one.get("name") == CPU_PROPERTY)
    return float(next(found, "0"))


def with_cpu(counts: Counts, cpu_s: float, most_cpu_s: float | None) -> Counts:
    """Add the CPU time; more than a suite may take is a failure.

    Args:
        most_cpu_s: Seconds that they may take; None for any number.
    """
    counts = replace(counts, cpu_s=cpu_s)
    if most_cpu_s is None or cpu_s <= most_cpu_s:
        return counts
    failure = f"the tests took {cpu_s:g} s of CPU time, and may take {most_cpu_s:g} s"
    return replace(counts, n_failed=counts.n_failed + 1, failures=(*counts.failures, failure))


def _result_of(case: ElementTree.Element) -> Result:
    failures = [_reason_of(found) for found in (*case.iter("failure"), *case.iter("error"))]
    skips = [_skip_of(found) for found in case.iter("skipped")]
    properties = case.iter("property")
    first = [one.get("value", "") for one in properties if one.get("name") == FIRST_FAILURE]
    # What the first try has left can spoil the second one, whose failure alone would mislead.
    tries = [first[0], "  and at the second try", *failures] if first else failures
    return Result(
        test="::".join(part for part in (case.get("classname"), case.get("name")) if part),
        took_s=float(case.get("time") or 0),
        failure="\n".join(tries) if failures else None,
        skip=skips[0] if skips else None,
        passed_after=first[0] if first and not failures else None,
    )


def _reason_of(found: ElementTree.Element) -> str:
    return last_lines(found.text or "") or f"  {found.get('message', ''):.300}"


def last_lines(trace: str) -> str:
    """Return the last lines of pytest's traceback that say why a test failed; may be empty."""
    marked = [line for line in trace.splitlines() if line.startswith("E ")]
    return "\n".join(f"  {line:.300}" for line in marked[-N_REASON_LINES:])


def _skip_of(found: ElementTree.Element) -> str:
    # A skipped collection, that of a whole module, has its reason in the text only.
    return str(found.get("message") or found.text or "no reason").strip()


def unexpected_skips(results: Sequence[Result]) -> list[Result]:
    """Return the skipped tests that no entry of ALLOWED_SKIPS covers."""
    skipped = (result for result in results if result.skip is not None)
    return [r for r in skipped if not any(allowed.covers(r) for allowed in ALLOWED_SKIPS)]


def count(results: Sequence[Result], status: int, *, is_selection: bool) -> Counts:
    """Count how tests ended; what pytest calls unsuccessful is a failure, whatever is counted.

    Args:
        status: Exit status of pytest's first run: 0 for success, 1 for failed tests, 5 where no
            test was selected.
        is_selection: Whether a part of the suite was asked for, which may be none of it.

    Returns:
        The numbers, with a failure for each skip that is not allowed, for a suite without a test
        and for a run that was cut off.

    Source:
        https://docs.pytest.org/en/stable/reference/exit-codes.html
    """
    failures = [f"{r.test}\n{r.failure}" for r in results if r.failure is not None]
    not_allowed = unexpected_skips(results)
    failures += [f"{r.test}\n  must not be skipped: {r.skip}" for r in not_allowed]
    second_tries = tuple(f"{r.test}\n{r.passed_after}" for r in results if r.passed_after)
    if not results and not (is_selection and status == PYTEST_RAN_NO_TEST):
        failures.append("no test was run")
    if status not in {0, PYTEST_TESTS_FAILED, PYTEST_RAN_NO_TEST}:
        failures.append(f"pytest ended with status {status}")
    if status == PYTEST_TESTS_FAILED and not failures and not second_tries:
        failures.append("pytest says that tests failed and names none")
    skipped = [r.skip for r in results if r.skip is not None]
    n_passed = sum(r.failure is None and r.skip is None for r in results)
    return Counts(
        n_passed=n_passed,
        n_failed=len(failures),
        n_skipped=len(skipped) - len(not_allowed),
        failures=tuple(failures),
        skips=tuple(Counter(skipped).items()),
        second_tries=second_tries,
        durations=tuple((r.test, r.took_s) for r in results),
    )
