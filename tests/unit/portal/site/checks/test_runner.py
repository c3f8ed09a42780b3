"""Whatever happens in a check, it says something in time."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from portal.site.checks.finding import Check, Finding, Grade, Report, ok, problem
from portal.site.checks.runner import in_thread, run_checks
from portal.site.checks.site import format_summary, select
from spawner.errors import SiteError, SlurmUnavailableError


def run(*checks: Check) -> list[Report]:
    async def gather() -> list[Report]:
        return [report async for report in run_checks(checks)]

    return asyncio.run(gather())


def raising(error: Exception) -> Callable[[], Awaitable[list[Finding]]]:
    async def look() -> list[Finding]:
        raise error

    return look


def test_a_file_server_that_hangs_holds_up_nobody() -> None:
    release = threading.Event()

    async def hang() -> list[Finding]:
        return await in_thread(lambda: release.wait(60) and [])

    async def answer() -> list[Finding]:
        return [ok("well.")]

    began_s = time.monotonic()
    hung, answered = run(
        Check(name="files", run=hang, timeout_s=0.2), Check(name="other", run=answer)
    )
    release.set()

    assert time.monotonic() - began_s < 10
    assert hung.findings[0].grade is Grade.PROBLEM
    assert "no answer in 0.2 s" in hung.findings[0].sentence
    assert answered.findings == [ok("well.")]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SlurmUnavailableError("Slurm did not answer.", stderr="a\nlast line"), "scontrol ping"),
        (PermissionError(13, "Permission denied", "/x"), "/x: Permission denied"),
        (KeyError("bug"), "the check itself failed (KeyError"),
    ],
    ids=["slurm", "files", "bug"],
)
def test_an_error_becomes_a_line_with_a_cure(error: Exception, words: str) -> None:
    (report,) = run(Check(name="x", run=raising(error)))

    assert words in report.to_lines()
    assert "-> " in report.to_lines()
    assert "Traceback" not in report.to_lines()


def test_lines_are_no_wider_than_a_terminal_and_json_holds_the_same() -> None:
    report = Report(check="ldap", findings=[problem("word " * 60, "cure " * 40)], took_s=1.23456)

    assert max(len(line) for line in report.to_lines().splitlines()) <= 100
    (entry,) = report.to_json()
    assert entry["grade"] == "problem"
    assert entry["took_s"] == 1.235


def test_only_takes_the_beginning_of_a_name_and_refuses_what_there_is_not() -> None:
    checks = [Check(name=name, run=raising(KeyError())) for name in ("slurm", "trial-a", "trial-b")]

    assert [check.name for check in select(checks, ["trial"])] == ["trial-a", "trial-b"]
    with pytest.raises(SiteError, match="slurm, trial-a"):
        select(checks, ["slrm"])


def test_the_last_line_counts_what_is_wrong() -> None:
    report = Report(check="a", findings=[ok("x"), problem("y", "z")], took_s=0)

    assert "2 findings: 1 problem, 0 warnings, 0 skipped." in format_summary([report])
