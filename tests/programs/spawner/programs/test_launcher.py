"""The one program that sudo allows: what it refuses, and that it stands alone."""

from __future__ import annotations

import ast
import json
import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spawner.programs import launcher
from spawner.programs.launcher import RequestError

PROGRAM = Path(launcher.__file__)
ACCOUNT = pwd.struct_passwd(("ada", "x", os.getuid(), os.getgid(), "", "/proc/nowhere", "/bin/sh"))


@pytest.mark.parametrize(
    "argument",
    [
        "--wrap=id",
        "--uid=0",
        "--gid=0",
        "--output=/etc/cron.d/x",
        "--error=/x",
        "--input=/etc/shadow",
        "--chdir=/",
        "--export=NONE",
        "--export-file=/etc/shadow",
        "--array=1-1000",
        "--dependency=afterok:1",
        "--get-user-env",
        "--test-only",
        "--nodes=2",
        "--ntasks=40",
        "--time=1;id",
        "--time=$(id)",
        "--job-name=",
        "--job-name=a b",
        "--job-name=-x",
        "--comment=a'b",
        "--comment=a\nb",
        "--partition",
        "--hold=1",
        "-p",
        "-pjupyter",
        "jupyter",
        "--",
        "",
        "--gres=gpu:1\n",
        f"--job-name={'x' * 2000}",
        3,
        None,
        ["--time=1"],
    ],
)
def test_an_argument_that_is_not_on_the_list_is_refused(argument: object) -> None:
    with pytest.raises(RequestError):
        launcher.checked_arguments(["--time=08:00:00", argument])


@pytest.mark.parametrize("arguments", [None, "--time=1", {"--time": 1}, ["--hold"] * 100])
def test_arguments_have_to_be_a_short_list(arguments: object) -> None:
    with pytest.raises(RequestError):
        launcher.checked_arguments(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--exclusive"],
        ["--exclusive=user"],
        ["--nice"],
        ["--nice=-10"],
        ["--signal=B:USR1@600"],
        ["--gres=shard:2"],
        ["--gpus-per-node=1g.5gb:1"],
        ["--constraint=(a&b)|c*2"],
        ["--exclude=n[1-3,5]"],
    ],
)
def test_what_a_site_may_want_is_allowed(arguments: list[str]) -> None:
    assert launcher.checked_arguments(arguments) == arguments


@pytest.mark.parametrize(
    "environment",
    [
        {"SBATCH_PARTITION": "x"},
        {"SLURM_CONF": "/tmp/x"},
        {"a b": "x"},
        {"A=B": "x"},
        {"": "x"},
        {"1A": "x"},
        {"A\n": "x"},
        {"A": 1},
        {"A": "x\0y"},
        [],
        None,
    ],
    ids=repr,
)
def test_a_variable_that_is_none_or_would_change_sbatch_is_refused(environment: object) -> None:
    request = {"verb": "submit", "arguments": [], "script": "", "environment": environment}

    with pytest.raises(RequestError, match="environment"):
        launcher.answer_request(request, ACCOUNT)


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"verb": "shell"},
        {"verb": ["submit"]},
        {"verb": "cancel", "job_id": "1; id", "job_name": "a"},
        {"verb": "cancel", "job_id": 0, "job_name": "a"},
        {"verb": "cancel", "job_id": True, "job_name": "a"},
        {"verb": "cancel", "job_id": 1},
        {"verb": "cancel", "job_id": 1, "job_name": "$(id)"},
        {"verb": "log_tail", "job_id": "../../x"},
        {"verb": "log_tail", "job_id": 1, "n_bytes": 10**9},
        {"verb": "log_tail", "job_id": 1, "n_bytes": -1},
        {"verb": "forecast", "arguments": ["--wrap=id"], "script": ""},
        {"verb": "forecast", "arguments": [], "script": None},
    ],
    ids=str,
)
def test_a_request_of_another_form_is_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(RequestError):
        launcher.answer_request(request_, ACCOUNT)


def run(stdin: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-IS", str(PROGRAM), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["ok"] is False
    assert done.returncode == 2
    assert done.stderr == ""
    return answer


@pytest.mark.parametrize("stdin", ["", "{", "[]", '"submit"', "null", "\xff"])
def test_what_is_no_json_object_gets_an_answer_and_no_traceback(stdin: str) -> None:
    assert run(stdin)["stderr"].startswith("dsportal-launcher: ")


def test_arguments_are_refused() -> None:
    assert "takes no argument" in run("{}", "--help")["stderr"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be refused for being root")
def test_root_is_refused() -> None:
    assert "root" in run('{"verb": "log_tail", "job_id": 1}')["stderr"]


def test_it_needs_nothing_but_pythons_own_library() -> None:
    tree = ast.parse(PROGRAM.read_text())
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if not isinstance(node, ast.ImportFrom) or node.module
    }

    assert imported <= sys.stdlib_module_names


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder where commands of Slurm leave their arguments and where they ran."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sbatch", "squeue", "scancel"):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "$PWD" "$@" > {tmp_path}/{name}\necho 42\n')
        program.chmod(0o755)
    monkeypatch.setattr(launcher, "PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path


def test_a_job_is_cancelled_although_its_users_home_is_out_of_reach(slurm: Path) -> None:
    request = {"verb": "cancel", "job_id": 1, "job_name": "dsportal-0"}

    assert launcher.answer_request(request, ACCOUNT) == {"ok": True, "found": False}

    assert (slurm / "squeue").read_text().startswith("/ ")


def test_only_slurms_own_line_says_whose_job_would_be_cancelled(slurm: Path) -> None:
    name = "dsportal-0123456789abcdef"
    forged = f"{ACCOUNT.pw_uid}|{name}"
    program = slurm / "bin" / "squeue"
    # Somebody else's job has got the id, with a line break in its name.
    program.write_text(
        f'#!/bin/sh\nmark="${{4%%|*}}"\nprintf "%s|1|x\\n{forged}\\n" "${{mark#*=}}"\n'
    )
    program.chmod(0o755)
    request = {"verb": "cancel", "job_id": 42, "job_name": name}

    assert launcher.answer_request(request, ACCOUNT) == {"ok": True, "found": False}
    assert not (slurm / "scancel").exists()

    program.write_text(f'#!/bin/sh\nmark="${{4%%|*}}"\nprintf "%s|{forged}\\n" "${{mark#*=}}"\n')
    assert launcher.answer_request(request, ACCOUNT)["found"] is True


def test_the_limits_of_the_hubs_process_are_not_those_of_a_session(slurm: Path) -> None:
    home = pwd.struct_passwd((*ACCOUNT[:5], str(slurm), "/bin/sh"))
    request = {"verb": "submit", "arguments": [], "script": "", "environment": {}}

    launcher.answer_request(request, home)

    assert "--propagate=NONE" in (slurm / "sbatch").read_text().split()


def test_what_a_session_writes_is_not_under_the_mask_of_the_hub(tmp_path: Path) -> None:
    program = (
        "import os, runpy, sys; os.umask(0o077)\n"
        "try: runpy.run_path(sys.argv[1], run_name='__main__')\n"
        "except SystemExit: print(f'{os.umask(0):04o}')"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, PROGRAM],
        input="{}",
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )

    assert done.stdout.splitlines()[-1] == "0022"
