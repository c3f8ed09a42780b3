"""The job of a session, compared with recorded ones, and tried under bash."""

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from spawner.errors import SettingsError
from spawner.programs import launcher
from spawner.settings.resources import ResourceSettings
from spawner.slurm.job_script import Job, JobPlan, build_job, parse_extra_options
from spawner.slurm.resources import Resources

GOLDEN_DIR = Path(__file__).parents[1] / "golden"
ODD_PATH = "/opt/a b/$(id)/'x'/dsportal-singleuser"


def plan(n_gpus: int = 1, **changes: object) -> JobPlan:
    fields: dict[str, object] = {
        "job_name": "dsportal-0123456789abcdef",
        "comment": "data-scientist-portal hub=0123456789ab",
        "resources": ResourceSettings().per_gpu.resources(n_gpus),
        "walltime_s": 28800,
        "server_argv": ("/opt/server/bin/dsportal-singleuser",),
        **changes,
    }
    return JobPlan(**fields)  # type: ignore[arg-type]


PLANS = {
    "one-gpu": plan(),
    "two-gpus-warned": plan(2, warning_s=600, partition="jupyter"),
    "typed-gpus": plan(2, gpu_type="v100"),
    "mig": plan(1, gpu_type="1g.5gb"),
    "shard": plan(3, gres="shard"),
    "no-gpu": plan(0),
    "site-options": plan(
        names=(("account", "physics"), ("qos", "interactive"), ("reservation", "class")),
        extra_options=("--constraint=v100&nvlink", "--exclude=n[1-3]"),
        walltime_s=90_000,
        resources=Resources(n_gpus=1, n_cores=3, memory_mib=1000),
    ),
    "prologue": plan(prologue="module load cuda\nulimit -n 4096", server_argv=(ODD_PATH, "--a b")),
    "rescue": plan(0, is_rescue=True),
    "epilogue": plan(epilogue='rm -rf -- "$TMPDIR"', warning_s=600),
}


def as_text(job: Job) -> str:
    return "".join(f"{word}\n" for word in job.argv) + "\n" + job.script


@pytest.mark.parametrize("name", PLANS)
def test_a_job_is_as_recorded(name: str) -> None:
    path = GOLDEN_DIR / f"job-{name}.txt"
    text = as_text(build_job(PLANS[name]))

    if os.environ.get("ACCEPT_GOLDEN"):
        path.write_text(text)

    assert text == path.read_text(), f"if this is meant: ACCEPT_GOLDEN=1 pytest {__file__}"


@pytest.mark.parametrize("name", PLANS)
def test_a_script_is_correct_bash(name: str) -> None:
    script = build_job(PLANS[name]).script

    checked = subprocess.run(["bash", "-n"], input=script, text=True, check=False)

    assert checked.returncode == 0


@pytest.mark.parametrize("name", PLANS)
def test_the_launcher_lets_every_option_through(name: str) -> None:
    argv = list(build_job(PLANS[name]).argv)

    assert launcher.checked_arguments(argv) == argv


def test_a_session_is_one_task_on_one_node_that_is_never_started_again() -> None:
    argv = build_job(plan(4)).argv

    assert {"--nodes=1", "--ntasks=1", "--no-requeue", "--gpus-per-node=4"} <= set(argv)
    assert {"--cpus-per-task=32", "--mem=196608M", "--time=08:00:00"} <= set(argv)


def server_program(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "odd dir" / "it's $(server)"
    path.parent.mkdir()
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path


def run_script(path: Path, job: Job) -> subprocess.Popen[str]:
    script = path.parent / "script"
    script.write_text(job.script)
    return subprocess.Popen(["bash", str(script)], stdout=subprocess.PIPE, text=True)


def test_the_server_gets_its_arguments_whole_whatever_is_in_them(tmp_path: Path) -> None:
    path = server_program(tmp_path, 'printf "%s|" "$@" "$PORTAL_N_GPUS"')
    words = ("a b", "$HOME", "'", '"', "`id`", "*", "é")

    process = run_script(path, build_job(plan(2, server_argv=(str(path), *words))))
    out, _ = process.communicate(timeout=10)

    assert out == "|".join((*words, "2", ""))


def test_a_signal_to_the_job_is_a_signal_to_the_server(tmp_path: Path) -> None:
    path = server_program(
        tmp_path, "trap 'echo ended; exit 3' TERM\necho $$\nwhile :; do sleep 0.05; done"
    )
    process = run_script(path, build_job(plan(server_argv=(str(path),))))
    assert process.stdout is not None

    assert int(process.stdout.readline()) == process.pid, "the server took the shell's place"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=10)

    assert out == "ended\n"
    assert process.returncode == 3


def test_with_an_epilogue_the_server_gets_warning_and_end_and_then_the_epilogue_runs(
    tmp_path: Path,
) -> None:
    path = server_program(
        tmp_path,
        "trap 'echo warned' USR1\ntrap 'echo ended; exit 3' TERM\necho up\n"
        "while :; do sleep 0.05; done",
    )
    job = build_job(plan(server_argv=(str(path),), epilogue="echo cleaned", prologue="echo first"))
    process = run_script(path, job)
    assert process.stdout is not None

    assert process.stdout.readline() == "first\n"
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "warned\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=10)

    assert out == "ended\ncleaned\n"
    assert process.returncode == 3


def test_options_of_the_site_are_read_like_a_shell_line() -> None:
    assert parse_extra_options("--constraint='a b' --exclusive") == (
        "--constraint=a b",
        "--exclusive",
    )


@pytest.mark.parametrize("text", ["-p jupyter", "--partition jupyter", "jupyter", "--A=b"])
def test_options_of_the_site_have_to_be_in_their_long_form(text: str) -> None:
    with pytest.raises(SettingsError, match="--name=value"):
        parse_extra_options(text)


def test_no_word_of_the_job_needs_a_shell() -> None:
    for word in build_job(PLANS["two-gpus-warned"]).argv:
        assert shlex.split(word) == word.split(" ")
