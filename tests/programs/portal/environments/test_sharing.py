"""An environment in the folder of a project, used by others of its group."""

import os
import pwd
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.environments import locked
from portal.environments.own import own_environments
from portal.environments.registry import OWN_PATH, read_tables
from tests.support.checkout import PYTHONPATH
from tests.support.environments import environments, folder_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def project(home: Path) -> Iterator[Path]:
    """A folder of a project on the shared storage, whose group is nobody's."""
    with tempfile.TemporaryDirectory(prefix="project-") as name:
        folder = Path(name)
        folder.chmod(0o750)
        os.chown(folder, -1, NOBODY.pw_gid)
        yield folder


def as_nobody(*argv: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program as somebody else who is in the group of the project."""
    return subprocess.run(
        argv,
        user=NOBODY.pw_uid,
        group=NOBODY.pw_gid,
        extra_groups=[],
        cwd="/",
        env={**os.environ, "PATH": "/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


# Where each user has a group of their own, what they make is writable for it.
@pytest.mark.parametrize("umask", [0o077, 0o002])
def test_the_group_of_the_folder_uses_what_is_shared_also_after_an_update(
    project: Path, capfd: pytest.CaptureFixture[str], umask: int
) -> None:
    mask = os.umask(umask)
    try:
        assert environments("new", "mine", "--share", "--folder", project, "tiny") == 0
        assert environments("update", "mine", "other") == 0
    finally:
        os.umask(mask)
    folder = project / "mine"

    done = as_nobody(folder / "bin/python", "-c", "import other, tiny; print(tiny.version)")

    assert done.stdout == "1.0\n", done.stderr
    said = capfd.readouterr().out
    assert f"Others in the group nogroup take it with: dsportal environments add {folder}" in said
    assert "cannot enter" not in said
    assert folder.stat().st_mode & 0o070 == 0o050
    assert (folder / locked.LOCK).stat().st_mode & 0o070 == 0o040
    paths = [folder, *folder.rglob("*")]
    assert [one for one in paths if not one.is_symlink() and one.stat().st_mode & 0o022] == []
    if umask == 0o077:
        assert not folder.stat().st_mode & 0o007


def test_another_member_of_the_group_takes_it_by_its_path(project: Path) -> None:
    assert environments("new", "mine", "--like", "pytorch", "--folder", project, "--share") == 0
    with tempfile.TemporaryDirectory(prefix="home-") as name:
        os.chown(name, NOBODY.pw_uid, -1)
        program = "import sys; from portal.cli import user_main; sys.exit(user_main())"
        words = (sys.executable, "-c", program, "environments", "add", project / "mine")

        done = as_nobody(*words, HOME=name, PYTHONPATH=PYTHONPATH)

        assert done.returncode == 0, done.stderr
        assert "mine: works on this machine." in done.stdout
        table = read_tables(Path(name) / OWN_PATH)["mine"]
        assert table["virtualenv"] == str(project / "mine")


def test_who_makes_it_reads_what_keeps_the_group_out(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home.chmod(0o700)

    assert environments("new", "mine", "--folder", home / "project", "--share", "nogroup") == 0

    assert re.search(r"But they cannot enter \S+\. Run: chmod g\+x", capfd.readouterr().out)


def test_a_group_that_is_not_there_is_refused_before_anything_is_made(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert environments("new", "mine", "--share", "no-such-group") == 1

    assert (
        "There is no group 'no-such-group'. Name one of yours with --share=GROUP: "
        in capfd.readouterr().err
    )
    assert not folder_of(home, "mine").exists()


def test_an_environment_that_is_there_is_shared_and_taken_back(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert environments("new", "mine", "--folder", project, "tiny") == 0
    folder = project / "mine"
    use = (folder / "bin/python", "-c", "import tiny; print(tiny.version)")
    # As uv leaves it where its cache is on the same file system.
    (module,) = folder.rglob("tiny.py")
    cached = project / "cached.py"
    os.link(module, cached)
    before = cached.stat()

    assert environments("share", "mine") == 0
    assert as_nobody(*use).stdout == "1.0\n"
    said = capfd.readouterr().out
    assert f"Others in the group nogroup take it with: dsportal environments add {folder}" in said
    (listed,) = own_environments(Path.home())
    assert listed["group"] == "nogroup"

    assert environments("unshare", "mine") == 0
    with pytest.raises(PermissionError):
        as_nobody(*use)
    assert "the group nogroup cannot use it any more" in capfd.readouterr().out
    assert folder.stat().st_mode & 0o077 == 0
    (listed,) = own_environments(Path.home())
    assert listed["group"] == ""
    assert environments("check", "mine") == 0

    after = cached.stat()
    assert (after.st_gid, after.st_mode) == (before.st_gid, before.st_mode)
    assert environments("unshare", "mine") == 1
    assert "mine is not shared." in capfd.readouterr().err


def test_another_group_takes_the_place_of_the_first(project: Path) -> None:
    assert environments("new", "mine", "--folder", project, "--share=nogroup", "tiny") == 0
    folder = project / "mine"

    assert environments("share", "mine", "--with", "root") == 0

    assert folder.stat().st_gid == 0
    with pytest.raises(PermissionError):
        as_nobody(folder / "bin/python", "-c", "1")


def test_only_what_was_made_here_is_shared(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environments("add", "found", "--virtualenv", "/v", "--untried") == 0
    assert environments("share", "found") == 1
    assert "they add it by its path" in capfd.readouterr().err

    assert environments("new", "mine", "--like", "pytorch") == 0
    assert environments("share", "mine", "--with", "no-such-group") == 1
    assert "Name one of yours with --with=GROUP: " in capfd.readouterr().err
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert environments("share", "mine") == 1
    assert "belongs to somebody else" in capfd.readouterr().err
