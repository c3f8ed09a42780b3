"""When a run over MPI is refused, and in which words."""

from pathlib import Path

import pytest

from dsportal.errors import LaunchError, StepError
from dsportal.launch import commands, mpi
from dsportal.launch.mpi import check_horovod, check_mpi, check_slurm, is_built_with_mpi
from dsportal.notebook.magic import parse_line

# What Slurm 22.05 prints, and 20.11, which prints it to standard error.
LISTING = """\
MPI plugin types are...
\tpmix
\tnone
\tcray_shasta
\tpmi2
specific pmix plugin versions available: pmix_v4
"""
OLD_LISTING = """\
srun: MPI types are...
srun: none
srun: pmi2
"""


@pytest.fixture
def make_horovod(tmp_path: Path):
    """Return a function that makes a Horovod whose library has some symbols."""

    def make(symbols: bytes) -> Path:
        library = tmp_path / "horovod/tensorflow/mpi_lib.cpython-311-x86_64-linux-gnu.so"
        library.parent.mkdir(parents=True)
        library.write_bytes(b"\x7fELF\0" + symbols)
        tmp_path.joinpath("horovod/__init__.py").touch()
        return tmp_path / "horovod"

    return make


@pytest.fixture
def srun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that puts a stand-in for srun before all others."""

    def make(script: str) -> None:
        program = tmp_path / "bin" / "srun"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=":")

    return make


def test_a_horovod_with_mpi_is_told_from_one_without(make_horovod):
    assert is_built_with_mpi(make_horovod(b"horovod_mpi_built\0MPI_Init_thread\0"))


def test_a_horovod_without_mpi_is_refused_with_gloo_and_the_build_as_next_steps(make_horovod):
    with pytest.raises(LaunchError) as refusal:
        check_horovod(make_horovod(b"horovod_mpi_built\0horovod_gloo_built\0"))

    assert str(refusal.value) == (
        "You asked for Horovod over MPI, and the Horovod of this environment is built without MPI. "
        "Leave mpi out, which uses Gloo, or ask the administrators for one that has it: "
        "'deploy/environments/build --with-mpi horovod'."
    )


def test_an_environment_without_horovod_is_refused():
    with pytest.raises(LaunchError, match="this environment has no Horovod"):
        check_horovod(None)


def test_horovod_is_found_without_importing_it(make_horovod, monkeypatch):
    folder = make_horovod(b"")
    folder.joinpath("__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(folder.parent))

    assert mpi.find_horovod() == folder


def test_a_slurm_without_pmix_is_refused_with_the_plugins_that_it_has():
    with pytest.raises(StepError, match="'srun --mpi=list' names none, pmi2"):
        check_slurm({"pmi2", "none"})


@pytest.mark.parametrize("plugins", [{"none", "pmix"}, None])
def test_a_slurm_with_pmix_or_without_an_answer_is_not_refused(plugins):
    check_slurm(plugins)


@pytest.mark.parametrize(
    ("script", "plugins"),
    [
        (f"cat <<'END'\n{LISTING}END", {"pmix", "none", "cray_shasta", "pmi2"}),
        (f"cat >&2 <<'END'\n{OLD_LISTING}END", {"none", "pmi2"}),
        ("exit 1", None),
    ],
)
def test_the_plugins_are_those_that_srun_lists(srun, script, plugins):
    srun(script)

    assert commands.mpi_plugins() == plugins


def test_both_are_looked_at(make_horovod, srun, monkeypatch):
    monkeypatch.syspath_prepend(str(make_horovod(b"\0MPI_Init_thread\0").parent))
    srun("echo none")

    with pytest.raises(StepError, match="has no plugin 'pmix' here"):
        check_mpi()


def test_the_magic_takes_it_as_a_word():
    assert parse_line("--gpus 4 --nodes 2 --mpi").mpi is True
    assert parse_line("").mpi is False
