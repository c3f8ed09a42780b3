"""The old names of what users import, where the wheels of the portal are installed."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from portal.launch.task.call import Call

CHECKOUT = Path(__file__).parents[3]
SENTENCE = "portal.launch is now called dsportal. Write 'from dsportal import ...'"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Make a folder of packages as the two wheels fill it."""
    (tmp_path / "portal").symlink_to(CHECKOUT / "portal")
    (tmp_path / "spawner").symlink_to(CHECKOUT / "spawner")
    (tmp_path / "dsportal").symlink_to(CHECKOUT / "portal/launch")
    return tmp_path


def run_python(environment: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", *words],
        cwd=environment,
        env={"PYTHONPATH": str(environment), "HOME": str(environment)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_old_name_works_and_says_so_once(environment: Path) -> None:
    program = (
        "import portal.launch, portal.data.errors, dsportal.errors\n"
        "from portal.launch import report, checkpoint\n"
        "import portal.launch.task.call as call\n"
        "assert portal.launch is dsportal\n"
        "assert call is dsportal.task.call and call.__name__ == 'dsportal.task.call'\n"
        "assert call.__spec__.name == 'dsportal.task.call'\n"
    )

    # portal.data itself needs TensorFlow.
    done = run_python(environment, "-c", program.replace("portal.data.errors, ", ""))

    assert done.returncode == 0, done.stderr
    assert done.stderr.count(SENTENCE) == 1
    assert "The old name works until release 0.3." in done.stderr


def test_the_portals_own_commands_do_not_warn(environment: Path) -> None:
    done = run_python(environment, "-c", "import portal.job_command, portal.launch.errors")

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_job_file_of_the_old_release_still_starts_its_script(environment: Path) -> None:
    done = run_python(environment, "-m", "portal.launch.alone", __file__)

    assert "dsportal: This is no batch job with tasks." in done.stderr
    assert done.returncode == 1


def test_the_function_of_a_run_that_an_old_release_queued_can_be_read(environment: Path) -> None:
    # Named portal.launch here, as it was then.
    call = pickle.dumps(Call(function=print, args=("trained",)))
    (environment / "call").write_bytes(call)
    assert b"portal.launch.task.call" in call

    done = run_python(environment, "-c", "import pickle; pickle.load(open('call', 'rb')).run()")

    assert done.stdout == "trained\n", done.stderr
