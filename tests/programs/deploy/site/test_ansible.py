"""The Ansible role asks the installer for what it knows, and changes nothing twice."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment

from deploy.site.installer.command import parse_arguments

ANSIBLE = Path(__file__).parents[4] / "deploy/site/ansible"
ROLE = ANSIBLE / "roles/data_scientist_portal"
PLAY = str(ANSIBLE / "site.yml")
PLAYBOOK = shutil.which("ansible-playbook") or ""
WANTED = {
    "data_scientist_portal_shared": "/srv/isilon/dsportal",
    "data_scientist_portal_users_group": "users",
}
# Says on --check what a later run would do, and does it once.
STAND_IN = """\
#!/bin/sh
echo "$@" >> {folder}/asked
for word in "$@"; do
    if [ "$word" = --check ]; then
        [ -e {folder}/installed ] && exit 0
        exit 2
    fi
done
touch {folder}/installed
"""


def read(name: str) -> Any:
    return yaml.safe_load((ROLE / name).read_text())


def installer_argv(**changes: Any) -> list[str]:
    """Return the command that the role runs."""
    variables = read("defaults/main.yml") | WANTED | changes
    template = read("vars/main.yml")["data_scientist_portal_installer"]
    argv: list[str] = NativeEnvironment().from_string(template).render(variables)
    return argv


def test_the_installer_understands_what_the_role_asks() -> None:
    program, *words = installer_argv(
        data_scientist_portal_version="0.2.0", data_scientist_portal_with_horovod=True
    )

    wanted = parse_arguments(words)
    assert program.endswith("/deploy/site/install")
    assert (str(wanted.shared), wanted.users_group) == ("/srv/isilon/dsportal", "users")
    assert (wanted.version, wanted.with_horovod, wanted.with_mpi) == ("0.2.0", True, False)
    assert parse_arguments(installer_argv(data_scientist_portal_with_mpi=True)[1:]).with_mpi
    with_code_server = installer_argv(data_scientist_portal_with_code_server=True)
    assert parse_arguments(with_code_server[1:]).with_code_server
    assert parse_arguments(installer_argv(data_scientist_portal_cpu=True)[1:]).cpu
    assert not parse_arguments(installer_argv()[1:]).cpu
    cuda = parse_arguments(installer_argv(data_scientist_portal_cuda="/usr/local/cuda")[1:]).cuda
    assert str(cuda) == "/usr/local/cuda"
    assert parse_arguments(installer_argv()[1:]).version == ""


def test_the_role_runs_the_installer_in_the_python_that_was_chosen() -> None:
    chosen = "/usr/bin/python3.12"
    python, option, _, *words = installer_argv(data_scientist_portal_python=chosen)

    assert (python, option) == (chosen, "-B")
    assert str(parse_arguments(words).python) == chosen
    assert parse_arguments(installer_argv()[1:]).python is None


def test_every_variable_that_the_role_reads_has_a_default() -> None:
    texts = [path.read_text() for path in (*ROLE.rglob("*.yml"), ANSIBLE / "site.yml")]
    used = set(re.findall(r"data_scientist_portal_\w+", "".join(texts)))
    made = {task["register"] for task in read("tasks/main.yml") if "register" in task}

    assert used - made - set(read("vars/main.yml")) == set(read("defaults/main.yml"))


def play(source: Path, *words: str) -> tuple[str, dict[str, int]]:
    """Run the playbook on this host; return what it printed and how its tasks ended."""
    extra = WANTED | {
        "data_scientist_portal_source": str(source),
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    done = subprocess.run(
        [PLAYBOOK, "-i", "localhost,", "-c", "local", "-e", json.dumps(extra), *words, PLAY],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"},
    )
    recap = done.stdout.rpartition("localhost")[2].split()
    return done.stdout, {
        name: int(number) for name, _, number in (one.partition("=") for one in recap) if number
    }


@pytest.mark.skipif(not PLAYBOOK, reason="ansible-playbook is not installed")
def test_the_role_installs_once_and_shows_beforehand_what_it_would_do(tmp_path: Path) -> None:
    source = tmp_path / "source"
    installer = source / "deploy/site/install"
    installer.parent.mkdir(parents=True)
    installer.write_text(STAND_IN.format(folder=tmp_path))
    installer.chmod(0o755)

    said, shown = play(source, "--check")
    assert shown["failed"] == 0, said
    assert not (tmp_path / "installed").exists()

    said, first = play(source)
    assert (first["failed"], first["changed"]) == (0, 1), said
    said, second = play(source)
    assert (second["failed"], second["changed"]) == (0, 0), said
    assert len((tmp_path / "asked").read_text().splitlines()) == 4
