"""The Python of a kernel in a shell, by `source dsportal-activate`."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from portal.activate_command import find_activation, render_activation
from portal.cli import user_main
from tests.support.checkout import PYTHONPATH

CHECKOUT = Path(__file__).parents[3]


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server's environment with one kernel; both have this interpreter, and this package."""
    prefix = tmp_path / "environments/server"
    kernel = tmp_path / "environments/pytorch/bin/python"
    spec = {
        "argv": [str(kernel)],
        "env": {"KERAS_BACKEND": "torch", "PATH": "/kernel:${PATH}"},
        "metadata": {"packages_release": "2.13-py3.11"},
    }
    texts = {
        # Without the first option, -I, with which it would not see the checkout.
        kernel: f'#!/bin/sh\nshift\nPYTHONPATH={PYTHONPATH} exec {sys.executable} "$@"\n',
        prefix / "share/jupyter/kernels/pytorch/kernel.json": json.dumps(spec),
        # The command beside the script, with this folder as its environment.
        prefix / "commands/dsportal": (
            f"#!{sys.executable}\nimport sys\nsys.path[:0] = {PYTHONPATH.split(':')!r}\n"
            f"sys.prefix = {str(prefix)!r}\nfrom portal.cli import user_main\n"
            "raise SystemExit(user_main())\n"
        ),
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    script = CHECKOUT / "portal/environments/activate.sh"
    shutil.copyfile(script, prefix / "commands/dsportal-activate")
    (prefix / "commands/dsportal-activate").chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PORTAL_PACKAGES", raising=False)
    return prefix


def in_shell(script: str, prefix: Path, *options: str, **variables: str) -> str:
    environ: Mapping[str, str] = {
        "PATH": f"{prefix}/commands:/usr/bin:/bin",
        "HOME": os.environ["HOME"],
        **variables,
    }
    done = subprocess.run(
        ["bash", "-eu", *options, "-c", script],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_python_and_the_variables_are_those_of_the_kernel_until_it_is_left(prefix, tmp_path):
    said = in_shell(
        "source dsportal-activate pytorch; type -P python; echo $KERAS_BACKEND $PORTAL_KERNEL\n"
        'deactivate; echo "$PATH ${KERAS_BACKEND-none} ${VIRTUAL_ENV-none}"; typeset -F',
        prefix,
    )
    overlay = tmp_path / ".local/share/data-scientist-portal/packages/pytorch-2.13-py3.11"

    assert said.splitlines() == [
        f"{overlay}/bin/python",
        "torch pytorch",
        f"{prefix}/commands:/usr/bin:/bin none none",
    ]


def test_a_second_kernel_replaces_the_first(prefix):
    said = in_shell(
        "source dsportal-activate pytorch; first=$PATH\n"
        "source dsportal-activate pytorch; [ $PATH = $first ] && echo same",
        prefix,
    )

    assert said == "same\n"


def test_a_job_script_may_name_it_by_its_path(prefix):
    said = in_shell(
        f"source {prefix}/commands/dsportal-activate pytorch; echo $PORTAL_KERNEL",
        prefix,
        PATH="/usr/bin:/bin",
    )

    assert said == "pytorch\n"


def test_without_the_users_packages_it_is_the_shipped_python(prefix):
    said = in_shell(
        "source dsportal-activate pytorch; type -P python; echo ${VIRTUAL_ENV-none}",
        prefix,
        PORTAL_PACKAGES="off",
    )

    assert said.splitlines() == [f"{prefix.parent}/pytorch/bin/python", "none"]


def test_what_is_no_kernel_is_said_with_what_there_is_and_changes_nothing(prefix):
    said = in_shell(
        "source dsportal-activate torch || echo status $?; type -P python || true", prefix
    )

    assert said.splitlines()[0] == "status 1"
    assert "There is no kernel 'torch'. Choose: pytorch." in said


def test_a_program_says_that_the_shell_has_to_read_it(prefix):
    assert "source dsportal-activate pytorch" in in_shell("dsportal-activate pytorch", prefix)


def test_the_prompt_names_the_kernel(prefix):
    said = in_shell(
        'PS1=\'$ \'; source dsportal-activate pytorch; echo "$PS1"; deactivate; echo "$PS1"',
        prefix,
    )

    assert said.splitlines() == ["(pytorch) $ ", "$ "]


def register(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".config/data-scientist-portal/environments.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_environments_of_the_user_can_be_activated(prefix, tmp_path):
    register(tmp_path, f'[nlp]\nvirtualenv = "{sys.prefix}"\nvariables = {{ WORD = "a $b" }}\n')
    (prefix / "bin").mkdir()
    (prefix / "bin/python3").symlink_to(sys.executable)

    said = in_shell('source dsportal-activate nlp; type -P python3; echo "$WORD"', prefix)

    assert said.splitlines() == [f"{prefix}/bin/python3", "a $b"]


def test_modules_are_loaded_in_order_and_unloaded_in_the_other(prefix, tmp_path):
    init = tmp_path / "modules/init/bash"
    init.parent.mkdir(parents=True)
    init.write_text('module() { echo "module $*"; }\n')
    register(tmp_path, '[gcc-python]\nmodules = ["gcc/12", "python/3.11"]\n')

    said = in_shell(
        "source dsportal-activate gcc-python; deactivate", prefix, MODULESHOME=f"{tmp_path}/modules"
    )

    assert said.splitlines() == [
        *("module load gcc/12", "module load python/3.11"),
        *("module unload python/3.11", "module unload gcc/12"),
    ]


def test_an_image_says_how_to_run_a_program_in_it(prefix, tmp_path, capsys):
    register(tmp_path, '[fenics]\nimage = "/images/fenics.sif"\n')

    assert user_main(["activate", "fenics"]) == 1
    assert "exec /images/fenics.sif python3 SCRIPT" in capsys.readouterr().err


def test_the_lines_are_for_the_shell_and_not_for_a_terminal(prefix, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert user_main(["activate", "pytorch"]) == 1
    assert "source dsportal-activate pytorch" in capsys.readouterr().err


def test_a_value_with_quotes_is_no_shell_text(prefix):
    text = render_activation(find_activation("pytorch"), {"PATH": "/a b:$(touch x)"})

    assert "':/a b:$(touch x)'" in text or "/a b:$(touch x)'" in text


def test_programs_of_a_job_find_the_kernels_by_name(prefix: Path) -> None:
    said = in_shell('source dsportal-activate pytorch; echo "$JUPYTER_PATH"', prefix)
    folders = said.strip().split(":")

    assert folders[0] == f"{prefix}/share/jupyter"
    assert any("data-scientist-portal/kernels" in folder for folder in folders[1:])
