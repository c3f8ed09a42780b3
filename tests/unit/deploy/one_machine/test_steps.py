"""Steps: which are done, and what is printed when one fails."""

from pathlib import Path

import pytest

from deploy.common.command import run, wait_until
from deploy.common.errors import CommandError, DeployError, report_failure
from deploy.one_machine.cli import down, up
from deploy.one_machine.environments import is_unchanged
from deploy.one_machine.steps import Step, run_steps, select

STEPS = [Step(name=name, title=name.title(), do=lambda: "done") for name in ("one", "two", "three")]


def names(steps: list[Step]) -> list[str]:
    return [step.name for step in steps]


def test_without_a_choice_every_step_is_done() -> None:
    assert names(select(STEPS, [])) == ["one", "two", "three"]


def test_only_keeps_the_order_of_the_steps() -> None:
    assert names(select(STEPS, ["three", "one"])) == ["one", "three"]


def test_an_unknown_step_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(DeployError) as caught:
        select(STEPS, ["tow"])

    assert "'tow'" in caught.value.message
    assert "one, two, three" in caught.value.next_step


def test_every_step_prints_its_name_outcome_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    run_steps(STEPS[:2])

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0:3:2] for line in lines] == [["[", "One"], ["[", "Two"]]
    assert all("done  (" in line and line.endswith(" s)") for line in lines)


def test_no_step_follows_one_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> str:
        raise DeployError("It broke.", next_step="Mend it.")

    with pytest.raises(DeployError):
        run_steps([Step(name="bad", title="Bad", do=fail), *STEPS])

    out = capsys.readouterr().out
    assert "Bad" in out
    assert "failed" in out
    assert "One" not in out


def test_a_failure_says_what_failed_where_the_log_is_and_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = DeployError("slapd ended.", next_step="Run it again.", log=Path("/var/log/slapd.log"))

    assert report_failure(error, "deploy/up") == 1
    assert capsys.readouterr().err.splitlines()[1:] == [
        "deploy/up could not finish.",
        "slapd ended.",
        "Log: /var/log/slapd.log",
        "What to do: Run it again.",
    ]


def test_a_full_disk_is_reported_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_failure(OSError(28, "No space left on device"), "deploy/up") == 1
    assert "No space left on device" in capsys.readouterr().err


def test_a_failed_command_shows_its_last_words() -> None:
    with pytest.raises(CommandError, match="status 3") as caught:
        run(["sh", "-c", "echo out; echo trouble >&2; exit 3"])

    assert caught.value.exit_code == 3
    assert "trouble" in caught.value.message


def test_a_command_that_hangs_is_given_up() -> None:
    with pytest.raises(CommandError, match="did not end in time"):
        run(["sleep", "60"], timeout_s=0.1)


def test_a_missing_program_is_named() -> None:
    with pytest.raises(DeployError, match="no program 'no-such-program'"):
        run(["no-such-program"])


def test_what_does_not_happen_in_time_is_said_with_the_log() -> None:
    with pytest.raises(DeployError, match="within 0 s: slapd answers") as caught:
        wait_until(lambda: False, timeout_s=0, what="slapd answers", log=Path("/x.log"))

    assert caught.value.log == Path("/x.log")


@pytest.mark.parametrize("command", [up, down])
def test_an_ordinary_user_is_told_that_root_is_needed(
    command: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    assert callable(command)
    assert command([]) == 1
    assert "needs root" in capsys.readouterr().err


def test_purging_a_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        down(["--purge", "--only", "hub"])

    assert caught.value.code == 2
    assert "cannot be limited" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "expected"),
    [("hub         unchanged", True), ("hub         done in 3.1 s", False), ("", False)],
)
def test_only_news_of_the_builder_is_shown(line: str, expected: bool) -> None:
    assert is_unchanged(line) is expected
