"""What is said of a run that is stopped; how it ends is in tests/programs."""

from pathlib import Path

import pytest

from dsportal.errors import LaunchError
from dsportal.launch import commands
from dsportal.launch.commands import JobState
from dsportal.notebook import handle
from dsportal.notebook.handle import Run
from dsportal.task.folder import RunFolder
from tests.support.plans import PLAN


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("CANCELLED", "Stopped: the run has ended."),
        ("COMPLETING", "does not say yet that job 7 has ended"),
        # Of a Slurm that does not answer.
        ("UNKNOWN", "run 'scancel 7' in a terminal."),
    ],
)
def test_a_run_is_called_stopped_only_if_its_job_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, said: str
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(handle, "POLL_S", 0.01)
    monkeypatch.setattr(handle, "END_WITHIN_S", 0.02)
    monkeypatch.setattr(handle, "KILL_WITHIN_S", 0.02)
    monkeypatch.setattr(commands, "cancel", lambda *_, **__: state != "UNKNOWN")
    monkeypatch.setattr(commands, "job_state", lambda _: JobState(state=state))

    Run(RunFolder(tmp_path), 7, shown.append).stop()

    assert said in "".join(shown)
    assert ("Stopped" in "".join(shown)) == (state == "CANCELLED")


def test_a_run_of_another_cluster_is_not_taken_for_the_job_that_has_its_id_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*_: object, **__: object) -> None:
        raise AssertionError("job 7 is another one here")

    run = Run(RunFolder(tmp_path), 7, str)
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "volta")
    run.folder.write_plan(PLAN)
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "kepler")
    for name in ("cancel", "job_state", "step_names"):
        monkeypatch.setattr(commands, name, ask)

    assert (run.state, run.used) == ("unknown", "")
    with pytest.raises(LaunchError, match="on the cluster volta"):
        run.stop()
    with pytest.raises(LaunchError, match="is unknown"):
        run.result()
