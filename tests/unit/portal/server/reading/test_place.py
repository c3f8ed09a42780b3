"""What the path of a shared notebook means, also where others may write."""

import os
import stat
from pathlib import Path

import pytest

from portal.server.reading.place import Place, look

ANOTHER = 65534
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can make another user's link")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home, shared = tmp_path / "home", tmp_path / "shared"
    for folder in (home, home / "work", shared):
        folder.mkdir(mode=0o755)
    (home / "work/secret.ipynb").write_text("secret")
    (shared / "results.ipynb").write_text("results")
    (home / "isilon").symlink_to(shared)
    return home


def test_a_notebook_of_the_home_and_one_behind_the_users_own_link_are_read(home: Path) -> None:
    assert look(home, "work/secret.ipynb") == Place(b"secret", is_own=True)
    assert look(home, "isilon/results.ipynb") == Place(b"results", is_own=True)


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
def test_others_can_change_what_a_path_means_where_they_may_write(home: Path, mode: int) -> None:
    (home.parent / "shared").chmod(mode)

    # In a sticky folder only what is not there.
    is_own = mode == 0o1777
    assert look(home, "isilon/results.ipynb") == Place(b"results", is_own)
    assert look(home, "isilon/gone.ipynb") == Place(None, is_own=False)


@needs_root
@pytest.mark.parametrize("target", ["{home}/work/secret.ipynb", "../home/work/secret.ipynb"])
def test_no_link_of_another_user_leads_anywhere(home: Path, target: str) -> None:
    file = home.parent / "shared/results.ipynb"
    file.unlink()
    file.symlink_to(target.format(home=home))
    assert file.read_text() == "secret"
    os.chown(file, ANOTHER, ANOTHER, follow_symlinks=False)

    assert look(home, "isilon/results.ipynb") == Place(None, is_own=False)


@needs_root
def test_no_folder_that_is_another_users_link_is_entered(home: Path) -> None:
    link = home.parent / "shared/folder"
    link.symlink_to(home / "work")
    os.chown(link, ANOTHER, ANOTHER, follow_symlinks=False)

    assert look(home, "isilon/folder/secret.ipynb") == Place(None, is_own=False)


def test_links_in_a_circle_pipes_and_folders_are_no_notebooks(home: Path) -> None:
    (home / "circle").symlink_to("circle")
    os.mkfifo(home / "pipe.ipynb")

    assert look(home, "circle") == Place(None, is_own=False)
    for path in ("pipe.ipynb", "work", "work/secret.ipynb/x", "gone.ipynb", "gone/x.ipynb"):
        assert look(home, path) == Place(None, is_own=True)
    assert stat.S_ISFIFO((home / "pipe.ipynb").lstat().st_mode)


def test_no_descriptor_stays_open(home: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))

    for path in ("isilon/results.ipynb", "gone", "work"):
        look(home, path)

    assert len(os.listdir("/proc/self/fd")) == before
