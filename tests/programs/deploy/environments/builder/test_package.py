"""The commands that sessions have on their PATH."""

import subprocess
import sys
from pathlib import Path

import pytest

from deploy.environments.builder.package import isolate_commands, offer_commands

CHECKOUT = Path(__file__).parents[5]
SBATCH = """#!/bin/bash
printf '%s\\n' "$@"
env
"""
TOKEN = {"JUPYTERHUB_API_TOKEN": "secret"}


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """An environment of the notebook server that has this checkout and this interpreter."""
    server = tmp_path / "server"
    packages = server / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    for name in ("portal", "spawner"):
        (packages / name).symlink_to(CHECKOUT / name)
    (packages / "dsportal").symlink_to(CHECKOUT / "portal/dsportal/dsportal")
    (server / "bin").mkdir()
    (server / "bin/python").symlink_to(sys.executable)
    offer_commands(server)
    return server


def run(server: Path, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        env={"PATH": f"{server}/commands:{server.parent}/slurm:/usr/bin:/bin"} | environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["salloc", "sbatch", "srun"])
def test_slurms_programs_are_started_without_the_tokens_of_the_session(
    server: Path, tmp_path: Path, name: str
) -> None:
    program = tmp_path / "slurm" / name
    program.parent.mkdir()
    program.write_text(SBATCH)
    program.chmod(0o755)
    said = run(server, name, "--wrap", "two words", MINE="kept", **TOKEN).stdout

    assert said.startswith("--wrap\ntwo words\n")
    assert "\nMINE=kept\n" in said
    assert "secret" not in said


def test_the_module_command_of_the_site_reaches_jobs(server: Path, tmp_path: Path) -> None:
    program = tmp_path / "slurm/sbatch"
    program.parent.mkdir()
    program.write_text("#!/bin/bash\nmodule\n")
    program.chmod(0o755)

    function = {"BASH_FUNC_module%%": "() {  echo loaded\n}"}
    assert run(server, "sbatch", **function).stdout == "loaded\n"


def test_a_node_without_slurm_says_so(server: Path) -> None:
    done = run(server, f"{server}/commands/sbatch", PATH=f"{server}/commands")

    assert (done.returncode, done.stdout) == (127, "")
    assert "sbatch: this node has no such program" in done.stderr


@pytest.mark.parametrize("name", ["dsportal", "dsportal-user"])
def test_the_command_imports_nothing_that_a_users_pythonpath_holds(
    server: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "random.py").write_text("raise SystemError('broken')")
    script = server / "bin" / name
    script.write_text(f"#!{server}/bin/python\nimport random\nprint('answers')\n")
    script.chmod(0o755)
    isolate_commands(server)
    isolate_commands(server)

    assert run(server, str(script), PYTHONPATH=str(tmp_path)).stdout == "answers\n"
