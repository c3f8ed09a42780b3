"""What a run says that it used."""

import subprocess
from collections.abc import Sequence

import pytest

from dsportal.launch import used

JOB = "cpu=4,mem=8G"
MEASURED = "cpu=00:30:00,mem=2G"


def answer_with(monkeypatch: pytest.MonkeyPatch, *, exit_code: int = 0) -> list[Sequence[str]]:
    """Let Slurm know job 12, with the steps of two runs; return what it is asked."""
    asked: list[Sequence[str]] = []

    def ask(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(argv)
        nonce = next(word.partition("=")[2] for word in argv if word.startswith("--delimiter="))
        rows = [
            ("12", "3600", JOB, "", "", "", "dsportal-1"),
            ("12.0", "3600", JOB, MEASURED, MEASURED, "", "20261128-080000-k3v9"),
            ("12.1", "1800", JOB, MEASURED, MEASURED, "", "other"),
        ]
        text = "".join(f"{nonce.join(row)}\n" for row in rows)
        return subprocess.CompletedProcess(argv, exit_code, stdout=text, stderr="")

    monkeypatch.setattr(used, "ask_slurm", ask)
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    return asked


def test_a_run_in_a_session_is_told_by_its_step_and_one_with_a_job_by_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = answer_with(monkeypatch)

    of_step = used.read_used(None, step_name="20261128-080000-k3v9")
    of_job = used.read_used(12)

    assert of_step == "It used 0.5 of 4 cores on average, at most 2 of 8 GB of memory."
    assert of_job == "It used 1.0 of 4 cores on average, at most 2 of 8 GB of memory."
    assert all("--jobs=12" in argv for argv in asked)


def test_without_an_answer_or_a_session_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, exit_code=1)
    assert used.read_used(12) == ""

    monkeypatch.delenv("SLURM_JOB_ID")
    assert used.read_used(None, step_name="x") == ""
