"""Another user of the node at the files of variables that move, which a kernel runs as code."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.folder import FOLDER, make_folder
from tests.support.other_user import NEIGHBOUR
from tests.support.two_kernels import started

TRY = """
import json, os, sys
got = []
for path in json.loads(sys.argv[1]):
    for name, act in {
        "read": lambda: open(path, "rb").read(1),
        "list": lambda: os.listdir(path),
        "write": lambda: open(path, "ab").close(),
        "remove": lambda: os.unlink(path),
        "move": lambda: os.rename(path, path + "-moved"),
        "plant": lambda: open(os.path.join(path, "planted"), "wb").close(),
        "link": lambda: os.symlink("/dev/null", os.path.join(path, "linked")),
    }.items():
        try:
            act()
            got.append(name + " " + path)
        except OSError:
            pass
print(json.dumps(got))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that all others may enter, with a folder that was opened to them."""
    for folder in (tmp_path, *tmp_path.parents[:1]):
        folder.chmod(0o755)
    home = tmp_path / "home"
    (home / FOLDER).mkdir(parents=True)
    (home / FOLDER).chmod(0o777)
    monkeypatch.setenv("HOME", str(home))
    return home


def tried_by_neighbour(*paths: Path) -> list[str]:
    argv = ["/usr/bin/python3", "-I", "-c", TRY, json.dumps([str(path) for path in paths])]
    neighbour = {"user": NEIGHBOUR, "group": NEIGHBOUR, "extra_groups": [], "cwd": "/"}
    done = subprocess.run(argv, **neighbour, stdout=subprocess.PIPE, timeout=60, check=True)
    return list(json.loads(done.stdout))


def test_a_neighbour_reads_changes_and_plants_nothing(home: Path) -> None:
    assert tried_by_neighbour(home / FOLDER), "until the first use anybody can"
    folder = make_folder("variables")
    with started(sys.executable, home) as kernel:
        kernel.run("secret = 7")
        kernel.save(folder)
        files = list(folder.iterdir())
        assert len(files) == 2

        assert tried_by_neighbour(home / FOLDER, folder, *files) == []


def replaced(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"")
    path.chmod(0o600)
    os.chown(path, NEIGHBOUR, NEIGHBOUR)


def linked(path: Path) -> None:
    path.rename(path.with_suffix(".of-the-user"))
    path.symlink_to(path.with_suffix(".of-the-user"))


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize("name", ["index.json", "variables.pickle"])
@pytest.mark.parametrize("plant", [replaced, linked, a_pipe])
def test_a_file_that_was_planted_is_not_read(
    home: Path, name: str, plant: Callable[[Path], None]
) -> None:
    folder = make_folder("variables")
    with started(sys.executable, home) as kernel:
        kernel.run("x = 1")
        kernel.save(folder)
        kernel.run("del x")
        plant(folder / name)

        kernel.run(f"get_ipython().portal_gpus.restore({str(folder)!r}, None)")
        assert kernel.has_failed
        assert "NameError" in kernel.run("x")


def of_a_neighbour(folder: Path) -> None:
    os.chown(folder, NEIGHBOUR, NEIGHBOUR)


def link_to_one(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


@pytest.mark.parametrize("plant", [of_a_neighbour, link_to_one])
def test_nothing_is_saved_below_a_folder_that_was_planted(
    home: Path, plant: Callable[[Path], None]
) -> None:
    plant(home / FOLDER)

    with pytest.raises(KernelJobError, match="is no folder of yours"):
        make_folder("variables")
    assert not list((home / FOLDER).iterdir())
