"""What programs of a session inherit: PYTHONPATH, and the job's variables."""

from pathlib import Path

import pytest

from portal.server.base import inherited_environment
from portal.server.base.inherited_environment import (
    drop_relative_paths,
    guard_ports,
    offer_library,
    prepare_environment,
)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(":/a", "/a"), ("/a::/b:", "/a:/b"), (".:/a", "/a"), ("/a:lib", "/a"), ("/a", "/a"), ("", "")],
)
def test_a_part_that_means_the_notebooks_folder_is_dropped(given: str, kept: str) -> None:
    environ = {"PYTHONPATH": given}

    drop_relative_paths(environ)

    assert environ == {"PYTHONPATH": kept}


def test_without_the_variable_nothing_is_set() -> None:
    environ: dict[str, str] = {}

    drop_relative_paths(environ)

    assert environ == {}


@pytest.mark.parametrize(("given", "expected"), [(None, "{}"), ("", "{}"), ("/a:/b", "/a:/b:{}")])
def test_dsportal_comes_behind_what_the_user_has_on_the_path(
    given: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inherited_environment, "_SOURCE", tmp_path / "missing")
    library = tmp_path / "library"
    library.mkdir()
    environ = {} if given is None else {"PYTHONPATH": given}

    offer_library(environ, tmp_path)

    assert environ == {"PYTHONPATH": expected.format(library), "PORTAL_LIBRARY": str(library)}


def test_an_installation_without_the_folder_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inherited_environment, "_SOURCE", tmp_path / "missing")
    environ: dict[str, str] = {}

    offer_library(environ, tmp_path)

    assert environ == {}


@pytest.mark.parametrize("given", ["/a", "", None])
def test_what_guards_ports_is_in_front_of_all_else(given: str | None) -> None:
    environ = {"PORTAL_LIBRARY": "/library"}
    if given is not None:
        environ["PYTHONPATH"] = given

    guard_ports(environ)

    first = "/library/dsportal/start/first"
    assert environ["PYTHONPATH"] == (f"{first}:{given}" if given else first)


def test_an_installation_without_the_folder_guards_ports_too() -> None:
    environ: dict[str, str] = {}

    guard_ports(environ)

    assert [path.name for path in Path(environ["PYTHONPATH"]).glob("*.py")] == ["sitecustomize.py"]


def test_what_describes_the_session_stays_and_what_shapes_the_next_job_goes() -> None:
    environ = {
        "SLURM_JOB_ID": "41",
        "SLURM_JOB_PARTITION": "gpu",
        "SLURM_CPUS_ON_NODE": "16",
        "SLURMD_NODENAME": "node02",
        "SLURM_GPUS_PER_NODE": "2",
        "SLURM_CPUS_PER_TASK": "16",
        "SLURM_MEM_PER_NODE": "98304",
        "SLURM_NTASKS": "1",
        "SRUN_CPUS_PER_TASK": "16",
        "SBATCH_PARTITION": "gpu",
        "HOME": "/home/ada",
    }

    prepare_environment(environ)

    assert environ == {
        "SLURM_JOB_ID": "41",
        "SLURM_JOB_PARTITION": "gpu",
        "SLURM_CPUS_ON_NODE": "16",
        "SLURMD_NODENAME": "node02",
        "PORTAL_SESSION_JOB_ID": "41",
        "PORTAL_SESSION_MEMORY_MIB": "98304",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "RAY_AUTH_MODE": "token",
        "HOME": "/home/ada",
    }


@pytest.mark.parametrize(
    ("memory", "expected"),
    [({"SLURM_MEM_PER_CPU": "1000", "SLURM_CPUS_ON_NODE": "4"}, "4000"), ({}, None)],
)
def test_the_memory_of_the_session_is_kept(memory: dict[str, str], expected: str | None) -> None:
    environ = dict(memory)
    prepare_environment(environ)

    assert environ.get("PORTAL_SESSION_MEMORY_MIB") == expected


def test_what_a_user_has_set_stays() -> None:
    chosen = {"TF_FORCE_GPU_ALLOW_GROWTH": "false", "RAY_AUTH_MODE": "disabled"}
    environ = dict(chosen)
    prepare_environment(environ)

    assert environ == chosen
