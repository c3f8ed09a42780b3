"""One hub at a time has a state_dir."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from portal.hub import state_lock
from portal.hub.state_lock import FILE, hold_state
from spawner.errors import SiteError

HOLD = "import sys; from pathlib import Path; from portal.hub.state_lock import hold_state;"
HOLD += "hold_state(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"


def test_a_second_hub_is_told_who_has_the_folder_until_that_one_ends(tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert first.stdout is not None
    assert first.stdout.readline() == b"held\n"

    with pytest.raises(SiteError) as caught:
        hold_state(tmp_path)

    assert f"Another hub (process {first.pid}) uses {tmp_path}" in caught.value.message
    # As after a crash: nothing has to be cleaned up.
    first.kill()
    first.communicate()
    hold_state(tmp_path)
    # Once more, for a configuration that is loaded twice.
    hold_state(tmp_path)
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_a_folder_that_is_not_there_yet_is_nobodys(tmp_path: Path) -> None:
    hold_state(tmp_path / "hub")

    assert not (tmp_path / "hub").exists()


@pytest.mark.parametrize("failing", ["open", "write"])
def test_a_full_disk_keeps_no_hub_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(state_lock.os, failing, full)
        hold_state(tmp_path)

    # Where the file was there, the lock counts all the same.
    assert (tmp_path in state_lock._held) is (failing == "write")


def test_a_disk_without_locks_keeps_no_hub_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(state_lock.fcntl, "flock", without_locks)

    hold_state(tmp_path)
