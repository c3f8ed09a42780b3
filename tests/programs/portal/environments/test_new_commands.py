"""`dsportal environments new`, `update` and `export`, with the real uv and wheels made here."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from portal.environments import locked
from portal.environments.registry import OWN_PATH, read_tables
from tests.support.environments import environments, folder_of
from tests.support.wheels import make_wheel


def ask(folder: Path, program: str) -> str:
    argv = [str(folder / "bin/python"), "-c", program]
    return subprocess.check_output(argv, text=True).strip()


def test_an_environment_is_made_updated_exported_and_removed(
    home: Path, wheels: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    requirements = home / "requirements.txt"
    requirements.write_text("tiny  # the first\n")

    assert environments("new", "mine", "-r", requirements, "--name", "My kernel") == 0

    said = capfd.readouterr()
    assert "mine: works on this machine." in said.out
    assert "+ tiny==1.0" in said.err, "the progress of uv is shown"
    folder = folder_of(home, "mine")
    assert ask(folder, "import tiny; print(tiny.version)") == "1.0"
    assert "tiny==1.0 \\\n    --hash=sha256:" in (folder / locked.LOCK).read_text()
    assert not (folder / ".lock").exists(), "uv leaves a file that everybody can write"
    assert read_tables(home / OWN_PATH)["mine"] == {
        "virtualenv": str(folder),
        "name": "My kernel",
        "packages": ["ipykernel==7.0", "pip==26.0", "tiny==1.0"],
    }

    make_wheel(wheels, "tiny", "1.1", "version = '1.1'\n")
    assert environments("update", "mine", "other") == 0
    capfd.readouterr()
    assert environments("export", "mine") == 0

    assert capfd.readouterr().out.split() == [
        *("ipykernel==7.0", "other==2.0", "pip==26.0", "tiny==1.1"),
    ]
    assert "other==2.0" in read_tables(home / OWN_PATH)["mine"]["packages"]
    assert environments("remove", "mine", "--yes") == 0
    assert not folder.exists()
    assert read_tables(home / OWN_PATH) == {}


def test_an_environment_like_a_kernel_adds_to_what_that_has(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = home / "project/mine"

    made = environments(
        "new", "mine", "--like", "pytorch", "--folder", folder.parent, "tiny", "pytest"
    )

    assert made == 0, capfd.readouterr()
    assert ask(folder, "import pytest, tiny; print(pytest.__version__)") == pytest.__version__
    lock = (folder / locked.LOCK).read_text()
    assert lock.count("==") == 1, "what the kernel has is not installed again"
    assert environments("update", "mine", "other") == 0
    assert read_tables(home / OWN_PATH)["mine"]["variables"] == {
        "KERAS_BACKEND": "torch",
        "PORTAL_ENVIRONMENT": str(Path(sys.executable).parent.parent),
    }
    capfd.readouterr()
    assert environments("export", "mine") == 0
    first, *others = capfd.readouterr().out.splitlines()
    assert "dsportal environments new NAME --like pytorch -r FILE" in first
    assert others == ["other==2.0", "tiny==1.0"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["absent"], "No versions of these packages were found that fit together"),
        (
            ["--like", "pytorch", "needy"],
            "that fit the kernel pytorch, whose own packages keep theirs",
        ),
        (["--like", "julia"], "no shipped kernel 'julia' of Python. There are: pytorch."),
        (["--like", "pytorch", "--python", "2.7"], "not 2.7. Leave out --python"),
        (["--python", "/absent/python"], "There is no Python /absent/python for it"),
        (["-r", "/absent.txt"], "The requirements /absent.txt cannot be read"),
    ],
)
def test_what_cannot_be_made_says_why_and_leaves_nothing(
    home: Path, capfd: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert environments("new", "mine", *words) == 1

    assert sentence in capfd.readouterr().err
    assert not folder_of(home, "mine").exists()
    assert not (home / OWN_PATH).exists()


def test_an_environment_without_a_working_kernel_is_not_kept(
    home: Path, wheels: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_wheel(wheels, "ipykernel", "8.0", "raise ImportError('broken')\n")

    assert environments("new", "mine") == 1

    assert "mine does not work. It does not start a kernel" in capfd.readouterr().err
    assert not folder_of(home, "mine").exists()
    assert not (home / OWN_PATH).exists()


def test_another_file_than_the_locked_one_is_not_installed(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sync = locked._sync

    def sync_with_another_hash(folder: Path, uv: locked.Uv) -> None:
        lock = folder / locked.LOCK
        lock.write_text(re.sub("sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", lock.read_text()))
        sync(folder, uv)

    monkeypatch.setattr(locked, "_sync", sync_with_another_hash)

    assert environments("new", "mine", "tiny") == 1

    said = capfd.readouterr().err
    assert "Hash mismatch" in said
    assert "The packages could not be installed. The output of uv says why." in said
    assert not folder_of(home, "mine").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_or_a_closed_terminal_leaves_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    def interrupt(*_: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(locked, "_sync", interrupt)

    assert environments("new", "mine", "tiny") == 130

    assert not folder_of(home, "mine").exists()


def test_an_update_that_breaks_the_kernel_is_taken_back(
    home: Path, wheels: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert environments("new", "mine", "tiny") == 0
    folder = folder_of(home, "mine")
    lock = (folder / locked.LOCK).read_text()
    make_wheel(wheels, "ipykernel", "8.0", "raise ImportError('broken')\n")

    assert environments("update", "mine", "other") == 1

    assert "mine does not work" in capfd.readouterr().err
    assert (folder / locked.LOCK).read_text() == lock
    assert ask(folder, "import ipykernel, tiny; print(tiny.version)") == "1.0"


def test_an_environment_like_a_kernel_is_updated_for_a_new_release(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert environments("new", "mine", "--like", "pytorch", "tiny") == 0
    (shipped,) = folder_of(home, "mine").glob("lib/python3*/site-packages/*.pth")
    shipped.write_text("/a/release/that/is/gone\n")
    assert environments("check", "mine") == 1
    assert "dsportal environments update mine" in capfd.readouterr().out

    assert environments("update", "mine") == 0

    assert environments("check", "mine") == 0


def test_what_is_there_is_not_touched(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(home, "mine")
    folder.mkdir(parents=True)
    (folder / "work").touch()

    assert environments("new", "mine", "tiny") == 1

    assert f"{folder} already exists" in capfd.readouterr().err
    assert (folder / "work").exists()


def test_only_what_was_made_here_is_updated(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert environments("add", "mine", "--virtualenv", "/v", "--untried") == 0

    assert environments("update", "mine") == 1
    assert "was not made by 'dsportal environments new'" in capfd.readouterr().err
    assert environments("update", "absent") == 1
    assert "You have no environment 'absent'. There are: mine." in capfd.readouterr().err


def test_what_somebody_else_shares_is_forgotten_but_not_deleted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environments("new", "theirs", "--like", "pytorch", "--folder", home / "project") == 0
    assert environments("add", "course", "--virtualenv", home / "project/theirs") == 0
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)

    assert environments("remove", "course", "--yes") == 0

    assert list(read_tables(home / OWN_PATH)) == ["theirs"]
    assert ask(home / "project/theirs", "print(1)") == "1"


@pytest.mark.parametrize("line", ["-r other.txt", "-c limits.txt", "--editable ."])
def test_requirements_that_name_other_files_are_refused(
    home: Path, capfd: pytest.CaptureFixture[str], line: str
) -> None:
    requirements = home / "requirements.txt"
    requirements.write_text(f"tiny\n{line}\n")

    assert environments("new", "mine", "-r", requirements) == 1

    assert f"has the line '{line}', which names another file" in capfd.readouterr().err
