import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dsportal.slurm.again import find_mark
from portal import job_size
from portal.cli import main
from portal.job_submission import log_of


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job_size, "DEFAULT_SETTINGS_PATH", tmp_path / "none.toml")
    for name in ("PORTAL_GPUS_SIMULATED", "PORTAL_SETTINGS", "PORTAL_KERNEL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("PARTITION", "ACCOUNT", "QOS"):
        monkeypatch.delenv(f"SLURM_JOB_{name}", raising=False)
    path = tmp_path / "train.py"
    path.touch()
    return path


def test_a_job_has_one_rank_for_each_gpu_with_the_portals_cores_and_memory(script):
    words = ["--gpus", "8", "--nodes", "2", "--output", "train.job", "train.py", "--epochs", "3"]
    assert main(["job", "new", *words]) == 0
    text = script.with_suffix(".job").read_text()

    for option in ("nodes=2", "ntasks=8", "gpus-per-node=4", "cpus-per-task=8", "mem=196608M"):
        assert f"#SBATCH --{option}\n" in text
    assert "#SBATCH --time=480:00\n" in text
    assert text.endswith(f"-m dsportal.alone {script} --epochs 3\n")


@pytest.mark.parametrize(
    ("program", "part"),
    [
        ("horovod", "/commands/dsportal-activate tensorflow || exit 1\n"),
        ("torch", "/commands/dsportal-activate pytorch || exit 1\n"),
        ("plain", "srun python3 "),
    ],
)
def test_each_framework_runs_in_its_own_environment(script, capsys, program, part):
    assert main(["job", "new", "--with", program, "--output", "-", "train.py"]) == 0

    assert part in capsys.readouterr().out


def test_a_job_over_mpi_says_so_to_its_ranks(script, capsys):
    assert main(["job", "new", "--mpi", "--output", "-", "train.py"]) == 0

    assert "export PORTAL_MPI=1\n" in capsys.readouterr().out


def test_the_resources_are_those_of_the_sites_settings(script, tmp_path, minimal_toml, capsys):
    tmp_path.joinpath("none.toml").write_text(
        f"[site]\nsimulated_gpus = true\n{minimal_toml}"
        "[resources]\ncores_per_gpu = 4\nmemory_per_gpu_gib = 16\n"
    )
    main(["job", "new", "--output", "-", "train.py"])
    text = capsys.readouterr().out

    assert "--cpus-per-task=4\n" in text
    assert "--mem=16384M\n" in text
    assert "export PORTAL_GPUS_SIMULATED=1\n" in text


def test_a_file_that_is_there_is_kept_unless_replacing_it_was_asked_for(script, capsys):
    job = script.with_suffix(".job")
    job.write_text("mine")
    words = ["--output", "train.job", "train.py"]

    assert main(["job", "new", *words]) == 1
    assert job.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["job", "new", "--force", *words]) == 0
    assert job.read_text().startswith("#!/bin/bash\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--gpus", "3", "--nodes", "2", "train.py"], "Choose gpus=2 or gpus=4 on nodes=2"),
        (["--hours", "0", "train.py"], "--hours 0. Give a number from 0.02 to 8760"),
        (["--hours", "8761", "train.py"], "--hours 8761. Give a number"),
        (["no.py"], "There is no file"),
        (["--mpi", "--with", "torch", "train.py"], "Leave it out for --with torch"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(script, capsys, words, says):
    assert main(["job", "new", *words]) == 1
    assert says in capsys.readouterr().err


def test_a_name_with_blanks_and_quotes_is_no_shell_text(script, tmp_path, capsys):
    odd = tmp_path / "my $(touch pwned) 'train'.py"
    odd.touch()
    main(["job", "new", "--with", "plain", "--output", "-", str(odd), "a b", "$HOME"])
    text = capsys.readouterr().out.replace("srun python3 ", "printf '%s\\n' ")
    printed = subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout

    assert printed.splitlines() == [str(odd), "a b", "$HOME"]
    assert not tmp_path.joinpath("pwned").exists()


def test_in_a_session_a_job_has_the_sites_rule_and_the_sessions_account(
    script, monkeypatch, capsys
):
    session = {
        "PORTAL_SETTINGS": '{"resources": {"cores_per_gpu": 6, "memory_per_gpu_gib": 1}}',
        "PORTAL_GPUS_SIMULATED": "1",
        "SLURM_JOB_PARTITION": "gpu",
        "SLURM_JOB_ACCOUNT": "physics",
        "SLURM_JOB_QOS": "normal",
    }
    for name, value in session.items():
        monkeypatch.setenv(name, value)

    assert main(["job", "new", "--qos", "long", "--output", "-", "train.py"]) == 0
    text = capsys.readouterr().out

    for option in ("cpus-per-task=6", "mem=1024M", "partition=gpu", "account=physics", "qos=long"):
        assert f"#SBATCH --{option}\n" in text
    assert "export PORTAL_GPUS_SIMULATED=1\n" in text


@pytest.mark.parametrize(
    ("kernel", "words", "command"),
    [
        ("pytorch", [], "exec python -m dsportal.alone"),
        ("pytorch", ["--with", "plain"], "srun python "),
        ("nlp", [], "srun python "),
    ],
)
def test_a_job_runs_in_the_kernel_that_it_is_made_in(
    script, monkeypatch, capsys, kernel, words, command
):
    monkeypatch.setenv("PORTAL_KERNEL", kernel)
    main(["job", "new", *words, "--output", "-", "train.py"])
    text = capsys.readouterr().out

    assert f"/commands/dsportal-activate {kernel} || exit 1\n" in text
    assert command in text


def test_a_job_in_an_environment_of_the_user_and_in_none(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    own = tmp_path / ".config/data-scientist-portal/environments.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'[nlp]\nvirtualenv = "{sys.prefix}"\n')

    assert main(["job", "new", "--kernel", "nlp", "--output", "-", "train.py"]) == 0
    assert "/commands/dsportal-activate nlp || exit 1\n" in capsys.readouterr().out
    assert main(["job", "new", "--kernel", "nl", "--output", "-", "train.py"]) == 1
    assert "There is no kernel 'nl'. Choose: nlp." in capsys.readouterr().err


def test_the_name_of_a_script_need_not_be_utf_8(tmp_path, script, capsys):
    odd = tmp_path / os.fsdecode(b"caf\xe9.py")
    odd.touch()
    job = odd.with_suffix(".job")
    assert main(["job", "new", "--output", str(job), str(odd)]) == 0

    assert b"/caf\xe9.py'\n" in job.read_bytes()
    assert "sbatch " in capsys.readouterr().out


@pytest.fixture
def notebook(script):
    path = script.with_suffix(".ipynb")
    path.write_text('{"cells": [], "metadata": {"kernelspec": {"name": "python3"}}}')
    return path


@pytest.mark.parametrize("n_before", [0, 4, 6])
def test_a_notebook_runs_once_with_all_gpus_in_the_kernel_that_it_names(
    notebook, monkeypatch, n_before
):
    monkeypatch.setenv("PORTAL_KERNEL", "pytorch")
    # Options stand before it or behind it.
    words = ["--gpus", "4", "-p", "lr=0.1", "-p", "name=a b", "--nodes", "2", "--output=train.job"]
    words.insert(n_before, "train.ipynb")
    assert main(["job", "new", *words]) == 0
    text = notebook.with_suffix(".job").read_text()

    assert text.endswith(f"/commands/dsportal job run {notebook} -p lr=0.1 -p 'name=a b'\n")
    assert "#SBATCH --gpus-per-node=2\n" in text
    assert "dsportal-activate" not in text


@pytest.mark.parametrize(
    ("content", "words", "says"),
    [
        (
            '{"cells": [], "metadata": {"kernelspec": {"name": "python3"}}}',
            ["-p", "lr"],
            "such as -p lr=0.1",
        ),
        ("no notebook", [], "is no notebook"),
    ],
)
def test_a_notebook_that_a_job_cannot_run_is_refused(notebook, capsys, content, words, says):
    notebook.write_text(content)

    assert main(["job", "new", "train.ipynb", *words]) == 1
    assert says in capsys.readouterr().err


def test_the_file_of_a_notebook_that_runs_again_carries_all_that_its_next_run_needs(
    notebook, capsys
):
    words = ["--every", "monday", "--at", "4:05", "train.ipynb", "-p", "name=a b"]
    assert main(["job", "new", "--output", "-", *words]) == 0
    text = capsys.readouterr().out

    again = find_mark(text)
    assert again.words == "every Monday at 04:05"
    assert f"#SBATCH --output={log_of(again)}\n" in text
    assert re.search(r"^#SBATCH --begin=\d{4}-\d\d-\d\dT04:05:00$", text, re.MULTILINE)
    # A node that could not start it must not end it.
    assert "#SBATCH --requeue\n" in text
    assert text.endswith(f"dsportal job run --again \"$0\" {notebook} -p 'name=a b'\n")


@pytest.mark.parametrize(
    "words",
    [
        ["--every", "day", "train.py"],
        ["--every", "night", "train.ipynb"],
        ["--at", "25:00", "train.py"],
        ["-p", "lr=1", "train.py"],
        ["--kernel", "nlp", "train.ipynb"],
    ],
)
def test_what_only_one_kind_of_file_can_and_a_time_that_is_none_are_refused(
    notebook, capsys, words
):
    assert main(["job", "new", *words]) == 1
    assert capsys.readouterr().err.startswith("dsportal: ")
