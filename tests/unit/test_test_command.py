"""The test command itself: a failure can never look like a success."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import command, suites
from tests.command import parse_arguments, summary
from tests.eventually import eventually, eventually_async
from tests.suites import Counts, Suite, read_failures, read_report, run_suite, with_status

# What the sample needs: nothing; so it starts in no time.
BARE_PYTEST = ["--noconftest", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:asyncio"]


@pytest.fixture(autouse=True)
def own_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(suites, "OUTPUT_DIR", tmp_path / "output")
    monkeypatch.setattr(suites, "BIN_DIR", Path(sys.executable).parent)


def suite_of(tmp_path: Path, text: str) -> Suite:
    (tmp_path / "test_sample.py").write_text(text)
    return Suite(name="sample", folder=str(tmp_path), needs_cluster=False)


def test_the_last_line_sums_up() -> None:
    lines = summary(
        {"unit": Counts(n_passed=3, n_skipped=1), "hub": Counts(n_passed=2, n_failed=1, took_s=2)}
    ).splitlines()

    assert lines[-1] == "5 passed, 1 failed, 1 skipped"


def test_passed_failed_and_skipped_tests_are_counted(tmp_path: Path) -> None:
    text = (
        "import pytest\n"
        "def test_a(): pass\n"
        "def test_b(): raise ValueError\n"
        "@pytest.mark.skip(reason='none here')\n"
        "def test_c(): pass\n"
    )

    counts = run_suite(suite_of(tmp_path, text), BARE_PYTEST)

    assert (counts.n_passed, counts.n_failed, counts.n_skipped) == (1, 1, 1)


def test_the_summary_says_why_a_test_failed(tmp_path: Path) -> None:
    text = "def test_b():\n    assert {'left': 4} == {'left': 5}\n"

    counts = run_suite(suite_of(tmp_path, text), BARE_PYTEST)

    printed = summary({"sample": counts})
    assert "test_sample::test_b" in printed
    assert "assert {'left': 4} == {'left': 5}" in printed


def test_the_reasons_of_a_report_that_is_missing_are_none(tmp_path: Path) -> None:
    assert read_failures(tmp_path / "a.xml") == ()


@pytest.mark.parametrize(
    ("counted", "status", "expected"),
    [
        ((3, 0, 1), 0, (3, 0, 1)),
        ((3, 2, 0), 1, (3, 2, 0)),
        ((0, 0, 0), 5, (0, 0, 0)),
        ((3, 0, 0), 2, (3, 1, 0)),
        ((0, 0, 0), -9, (0, 1, 0)),
    ],
    ids=["success", "failures", "nothing selected", "interrupted", "killed"],
)
def test_a_run_that_did_not_end_well_counts_as_failed(
    counted: tuple[int, int, int], status: int, expected: tuple[int, int, int]
) -> None:
    assert with_status(counted, status) == expected


def test_a_check_that_is_missing_counts_as_failed() -> None:
    checks = Suite(name="lint", commands=(("/nowhere/ruff", "check"), ("true",)))

    counts = run_suite(checks, [])

    assert (counts.n_passed, counts.n_failed) == (1, 1)


def test_a_report_that_is_missing_or_cut_off_holds_no_passed_test(tmp_path: Path) -> None:
    cut_off = tmp_path / "a.xml"
    cut_off.write_text("<testsuites><testcase/>")

    assert read_report(cut_off) == read_report(tmp_path / "b.xml") == (0, 0, 0)


def test_the_cluster_is_started_once_and_its_failure_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "CHECKOUT", tmp_path)
    up = tmp_path / "deploy" / "up"
    up.parent.mkdir()
    up.write_text("#!/bin/sh\necho started >> deploy/starts\nexit 1\n")
    up.chmod(0o755)
    counts: dict[str, Counts] = {}

    command.run_suites([Suite(name="hub", folder="x"), Suite(name="slurm", folder="x")], [], counts)

    assert (up.parent / "starts").read_text() == "started\n"
    assert sum(c.n_failed for c in counts.values()) == 1
    assert sum(c.n_passed for c in counts.values()) == 0


@pytest.mark.parametrize(("counts", "status"), [({}, 1), ({"unit": Counts(n_passed=1)}, 0)])
def test_a_run_without_a_test_is_no_success(
    monkeypatch: pytest.MonkeyPatch, counts: dict[str, Counts], status: int
) -> None:
    monkeypatch.setattr(command, "prepare", lambda suites, found: not found.update(counts))
    monkeypatch.setattr(command, "run_suites", lambda *_: None)

    assert command.main(["unit"]) == status


def test_pytest_gets_what_follows_the_dashes() -> None:
    chosen, rest = parse_arguments(["unit", "--", "-k", "ldap"])

    assert [suite.name for suite in chosen] == ["unit"]
    assert rest == ["-k", "ldap"]


def test_benchmarks_run_only_when_asked_for() -> None:
    assert "bench" not in [suite.name for suite in parse_arguments([])[0]]


def test_waiting_shows_how_the_last_attempt_failed() -> None:
    def check() -> bool:
        raise LookupError("no job of ada")

    with pytest.raises(AssertionError, match="LookupError: no job of ada"):
        eventually(check, timeout_s=0.02, every_s=0.005)


async def test_waiting_in_asyncio_returns_the_first_true_value() -> None:
    values = iter([0, 0, 7])

    async def check() -> int:
        return next(values)

    assert await eventually_async(check, timeout_s=5, every_s=0.001) == 7
