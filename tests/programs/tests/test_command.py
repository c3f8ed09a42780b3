"""The test command itself: a failure can never look like a success."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.environments.builder.package_sources import ORDINARY_INDEX, SETTING
from tests import command, second_tries, suites
from tests.command import parse_arguments, summary
from tests.readable_copy import is_readable_by_all, readable_copy
from tests.results import Counts, Result, count, read_results
from tests.suites import NOT_OF_RELEASE, Suite, run_suite

# What the sample needs: nothing; so it starts in no time.
BARE_PYTEST = ["--noconftest", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:asyncio"]


@pytest.fixture(autouse=True)
def own_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(suites, "OUTPUT_DIR", tmp_path / "output")
    monkeypatch.setattr(suites, "BIN_DIR", Path(sys.executable).parent)
    monkeypatch.setenv(SETTING, ORDINARY_INDEX)


def suite_of(tmp_path: Path, text: str) -> Suite:
    (tmp_path / "test_sample.py").write_text(text)
    return Suite(name="sample", folder=str(tmp_path), needs_cluster=False)


def test_passed_failed_and_skipped_tests_are_counted(tmp_path: Path) -> None:
    text = (
        "import pytest\n"
        "def test_a(): pass\n"
        "def test_b(): raise ValueError\n"
        "@pytest.mark.skip(reason='this cluster has real GPUs')\n"
        "def test_c(): pass\n"
    )

    counts = run_suite(suite_of(tmp_path, text), BARE_PYTEST)

    assert (counts.n_passed, counts.n_failed, counts.n_skipped) == (1, 1, 1)


PASSED = Result(test="a", took_s=2.0)
FAILED = Result(test="b", failure="  E assert 0")
SKIPPED = Result(test="tests.slurm.test_postgres::x", skip="PostgreSQL is not installed: add it")
ODD_SKIP = Result(test="tests.hub.test_login::x", skip="no browser here")


@pytest.mark.parametrize(
    ("results", "status", "expected"),
    [
        ([PASSED, SKIPPED], 0, (1, 0, 1)),
        ([PASSED, FAILED], 1, (1, 1, 0)),
        ([PASSED, ODD_SKIP], 0, (1, 1, 0)),
        ([PASSED], 2, (1, 1, 0)),
        ([PASSED], 1, (1, 1, 0)),
        ([], 5, (0, 1, 0)),
        ([], -9, (0, 2, 0)),
        ([], 0, (0, 1, 0)),
    ],
    ids=[
        "success",
        "a failure",
        "a skip that is not allowed",
        "interrupted",
        "a failure that the report does not have",
        "no test",
        "killed",
        "no report",
    ],
)
def test_a_run_counts_as_failed_for_whatever_went_wrong(
    results: list[Result], status: int, expected: tuple[int, int, int]
) -> None:
    counts = count(results, status, is_selection=False)

    assert (counts.n_passed, counts.n_failed, counts.n_skipped) == expected


FAILS_AT_FIRST = """\
from pathlib import Path
marker = Path(__file__).with_name("marker")
def test_before(): pass
def test_by_chance():
    was_there = marker.exists()
    marker.touch()
    assert was_there
"""


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "tests" / "sample").mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    monkeypatch.setattr(suites, "CHECKOUT", tmp_path)
    return tmp_path


def test_what_passes_only_at_the_second_try_is_no_failure_and_is_named(checkout: Path) -> None:
    (checkout / "tests/sample/test_sample.py").write_text(FAILS_AT_FIRST)

    counts = run_suite(Suite(name="sample", folder="sample", needs_cluster=False), BARE_PYTEST)

    assert (counts.n_passed, counts.n_failed) == (2, 0)
    printed = summary({"sample": counts})
    assert "passed only at the second try\ntests.sample.test_sample::test_by_chance" in printed
    assert "E       assert False" in printed


def test_what_fails_twice_is_a_failure_and_both_reasons_are_told(checkout: Path) -> None:
    text = FAILS_AT_FIRST.replace("assert was_there", "assert was_there\n    raise LookupError(7)")
    (checkout / "tests/sample/test_sample.py").write_text(text)

    counts = run_suite(Suite(name="sample", folder="sample", needs_cluster=False), BARE_PYTEST)

    assert (counts.n_passed, counts.n_failed, counts.second_tries) == (1, 1, ())
    assert counts.failures[0].index("assert False") < counts.failures[0].index("LookupError: 7")


def test_a_run_with_many_failures_gets_no_second_try_for_the_rest(checkout: Path) -> None:
    n_tests = suites.MOST_TRIED_AGAIN + 2
    for n in range(n_tests):
        (checkout / f"tests/sample/test_{n}.py").write_text(FAILS_AT_FIRST.replace("ker", f"{n}"))

    counts = run_suite(Suite(name="sample", folder="sample", needs_cluster=False), BARE_PYTEST)

    assert len(counts.second_tries) == suites.MOST_TRIED_AGAIN
    assert counts.n_failed == n_tests - suites.MOST_TRIED_AGAIN


def test_a_suite_that_hangs_is_ended_after_its_own_time(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "tests/sample/test_sample.py").write_text("import time; time.sleep(600)\n")
    suite = Suite(name="sample", folder="sample", needs_cluster=False, timeout_s=0.5)

    counts = run_suite(suite, BARE_PYTEST)

    assert counts.n_failed
    assert "ended after 0.5 s: " in capsys.readouterr().out


@pytest.fixture(autouse=True)
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A record of second tries for these tests alone."""
    path = tmp_path / "second_tries.jsonl"
    monkeypatch.setattr(second_tries, "RECORD", path)
    return path


def test_a_test_that_needs_a_second_try_twice_fails_the_run(record: Path) -> None:
    first = {"hub": Counts(n_passed=1, second_tries=("tests.hub.test_x::test_a\n  E assert 0",))}
    later = {"hub": Counts(n_passed=1, second_tries=("tests.hub.test_x::test_a\n  E assert 1",))}

    command.judge_second_tries(first)
    command.judge_second_tries(later)

    assert sum(c.n_failed for c in first.values()) == 0
    assert "tests.hub.test_x::test_a" in summary(later)
    assert sum(c.n_failed for c in later.values()) == 1
    assert "E assert 0" in record.read_text()


def test_a_check_that_is_missing_counts_as_failed() -> None:
    checks = Suite(name="lint", commands=(("/nowhere/ruff", "check"), ("true",)))

    counts = run_suite(checks, [])

    assert (counts.n_passed, counts.n_failed) == (1, 1)


def test_a_report_that_is_missing_or_cut_off_holds_no_passed_test(tmp_path: Path) -> None:
    cut_off = tmp_path / "a.xml"
    cut_off.write_text("<testsuites><testcase/>")

    assert read_results(cut_off) == read_results(tmp_path / "b.xml") == ()


@pytest.fixture(autouse=True)
def left_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Leave alone what runs on this machine have left."""
    left = tmp_path / "left"
    monkeypatch.setattr(command, "LEFT_DIR", left)
    monkeypatch.setattr(command, "PUT_BACK", ("/usr/bin/rm", "--recursive", "--force", str(left)))
    return left


def test_the_cluster_is_started_once_and_its_failure_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "CHECKOUT", tmp_path)
    up = tmp_path / "deploy" / "up"
    up.parent.mkdir()
    up.write_text("#!/bin/sh\necho started >> deploy/starts\nexit 1\n")
    up.chmod(0o755)
    counts: dict[str, Counts] = {}

    of_portal = [Suite(name=name, folder="x", is_split=name == "hub") for name in ("hub", "slurm")]
    without = Suite(name="unit", commands=(("/usr/bin/true",),), needs_cluster=False)
    command.run_suites([without, *of_portal], [], counts)

    assert (up.parent / "starts").read_text() == "started\n"
    assert sum(c.n_failed for c in counts.values()) == 1
    assert [name for name, c in counts.items() if c.n_passed] == ["unit"]


def test_the_cluster_is_started_again_after_what_a_killed_run_left_was_put_back(
    started_portal: Path, left_dir: Path
) -> None:
    left_dir.mkdir()
    (left_dir / "1.json").touch()
    counts: dict[str, Counts] = {}

    command.run_suites([Suite(name="hub", folder="sample")], BARE_PYTEST, counts)

    assert started_portal.read_text() == "started\nstarted\n"
    assert not left_dir.exists()


OF_BOTH_KINDS = """\
import pathlib, pytest
there = pathlib.Path(__file__).with_name("up")
@pytest.mark.cluster
def test_on_it(): assert there.exists()
def test_without(): pass
"""


@pytest.fixture
def started_portal(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What deploy/up does here: it adds a line to this file."""
    marks = "markers =\n cluster: x\n release: x\n"
    (checkout / "pytest.ini").write_text(f"[pytest]\naddopts = --import-mode=importlib\n{marks}")
    starts = checkout / "tests/sample/up"
    up = checkout / "deploy/up"
    up.parent.mkdir()
    up.write_text(f"#!/bin/sh\necho started >> {starts}\n")
    up.chmod(0o755)
    monkeypatch.setattr(command, "CHECKOUT", checkout)
    return starts


def test_tests_without_the_portal_run_beside_those_on_it_and_each_runs_once(
    checkout: Path, started_portal: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (checkout / "tests/sample/test_sample.py").write_text(OF_BOTH_KINDS)
    (checkout / "tests/other").mkdir()
    (checkout / "tests/other/test_other.py").write_text("def test_it(): pass\n")
    both = [
        Suite(name="other", folder="other"),
        Suite(name="sample", folder="sample", is_split=True, marks=(NOT_OF_RELEASE,)),
    ]
    counts: dict[str, Counts] = {}

    command.run_suites(both, BARE_PYTEST, counts)

    passed = {name: c.n_passed for name, c in counts.items() if c.n_passed}
    assert passed == {"other": 1, "sample-cluster": 1, "sample": 1}
    assert not sum(c.n_failed for c in counts.values())
    assert started_portal.read_text() == "started\n"
    printed = capfd.readouterr().out
    assert printed.index("== sample: beside what follows") < printed.index("== other")


MEETING = """\
import pathlib
from tests.support.eventually import eventually
mine, other = pathlib.Path(__file__).parent, pathlib.Path(__file__).parents[1] / "{other}"
def test_it():
    (mine / "here").touch()
    eventually(lambda: (other / "here").exists(), timeout_s=30)
"""


def test_a_gentle_suite_of_a_push_runs_beside_the_suites_after_it(
    checkout: Path, started_portal: Path
) -> None:
    suites_of_push = []
    for name, other in (("sample", "other"), ("other", "sample")):
        (checkout / "tests" / name).mkdir(exist_ok=True)
        (checkout / "tests" / name / "test_it.py").write_text(MEETING.format(other=other))
        is_gentle = name == "sample"
        suite = Suite(name=name, folder=name, is_gentle=is_gentle, marks=(NOT_OF_RELEASE,))
        suites_of_push.append(suite)
    counts: dict[str, Counts] = {}

    command.run_suites(suites_of_push, BARE_PYTEST, counts)

    assert (counts["sample"].n_passed, counts["other"].n_passed) == (1, 1)


def test_a_part_that_needs_no_portal_runs_after_suites_that_are_alone(
    checkout: Path, started_portal: Path
) -> None:
    (checkout / "tests/sample/test_sample.py").write_text(OF_BOTH_KINDS)
    split = Suite(name="sample", folder="sample", is_split=True, is_alone=True)
    other = Suite(name="other", folder="sample", is_alone=True)
    counts: dict[str, Counts] = {}

    command.run_suites([split, other], BARE_PYTEST, counts)

    passed = {name: c.n_passed for name, c in counts.items() if c.n_passed}
    assert passed == {"sample-cluster": 1, "other": 2, "sample": 1}


@pytest.mark.parametrize(("counts", "status"), [({}, 1), ({"unit": Counts(n_passed=1)}, 0)])
def test_a_run_without_a_test_is_no_success(
    monkeypatch: pytest.MonkeyPatch, counts: dict[str, Counts], status: int
) -> None:
    monkeypatch.setattr(command, "prepare", lambda suites, found: not found.update(counts))
    monkeypatch.setattr(command, "run_suites", lambda *_: None)

    assert command.main(["unit"]) == status


def test_a_push_leaves_out_tests_of_a_release_and_a_suite_by_its_name_does_not() -> None:
    (of_push,) = [s for s in parse_arguments([])[0] if s.name == "slurm"]
    (by_name,) = parse_arguments(["slurm"])[0]
    (both,) = [s for s in parse_arguments(["push", "slurm"])[0] if s.name == "slurm"]

    assert of_push.marks == (NOT_OF_RELEASE,)
    assert by_name.marks == both.marks == ()
    assert not any(suite.marks for suite in parse_arguments(["all"])[0])


def test_tests_of_a_release_are_not_selected_by_a_push(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = release: long\n")
    text = "import pytest\n@pytest.mark.release\ndef test_a(): assert 0\ndef test_b(): pass\n"
    suite = replace(suite_of(tmp_path, text), marks=(NOT_OF_RELEASE,))

    counts = run_suite(suite, BARE_PYTEST)

    assert (counts.n_passed, counts.n_failed) == (1, 0)


def test_a_checkout_that_only_its_owner_may_enter_is_tested_in_a_copy_that_all_can_read(
    tmp_path: Path,
) -> None:
    checkout = tmp_path / "only mine" / "portal"
    (checkout / "tests").mkdir(parents=True)
    program = checkout / "tests/run"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    (checkout / "docs/benchmarks").mkdir(parents=True)
    (checkout / "docs/benchmarks/unit.json").write_text("old")
    (tmp_path / "only mine").chmod(0o700)

    with readable_copy(checkout, tmp_path / "prefix") as copy:
        assert " " not in str(copy.relative_to(tmp_path))
        assert copy.stat().st_mode & 0o055 == 0o055
        assert (copy / "tests/run").stat().st_mode & 0o055 == 0o055
        (copy / "tests/output/report.xml").write_text("of this run")
        (copy / "docs/benchmarks/unit.json").write_text("new")
        (copy / "tests/second_tries.jsonl").write_text("{}\n")

    assert not copy.exists()
    assert (checkout / "tests/output/report.xml").read_text() == "of this run"
    assert (checkout / "docs/benchmarks/unit.json").read_text() == "new"
    assert (checkout / "tests/second_tries.jsonl").read_text() == "{}\n"


@pytest.mark.parametrize(
    ("mode_of_folder", "mode_of_file", "name", "expected"),
    [
        (0o755, 0o644, "portal", True),
        (0o700, 0o644, "portal", False),
        (0o755, 0o600, "portal", False),
        (0o755, 0o644, "my portal", False),
    ],
    ids=["everybody's", "only its owner may enter", "cloned with umask 077", "with a space"],
)
def test_a_checkout_that_another_user_cannot_read_is_recognised(
    mode_of_folder: int, mode_of_file: int, name: str, expected: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        above = Path(folder)
        (above / name).mkdir()
        (above / name / "setup.cfg").write_text("")
        (above / name / "setup.cfg").chmod(mode_of_file)
        (above / name).chmod(0o755)
        above.chmod(mode_of_folder)

        assert is_readable_by_all(above / name) is expected


def test_the_quick_checks_need_no_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "IS_ROOT", False)
    monkeypatch.setattr(command, "PREFIX", tmp_path / "mine")
    built: list[list[str]] = []
    monkeypatch.setattr(command, "_step", lambda name, words, counts: built.append(list(words)))

    suites, _ = parse_arguments(["lint", "types", "docs", "unit"])
    command.prepare(suites, {})

    assert built[0][4:6] == ["--prefix", str(tmp_path / "mine")]
    with pytest.raises(SystemExit):
        parse_arguments(["unit", "programs"])
    assert "only root can run programs. Without root: lint" in capsys.readouterr().err
