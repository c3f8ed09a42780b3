"""What a killed run has changed is put back by the next one."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.put_back import kept, put_back, put_back_what_was_left

CHECKOUT = Path(__file__).parents[4]
KILLED = """\
import os, signal, sys
from pathlib import Path
from tests.support.put_back import kept, put_back

left, settings, limit = map(Path, sys.argv[1:])
with kept(settings, ("touch", f"{settings}.read-again"), left_dir=left):
    settings.write_text("of the test")
    with put_back(("cp", settings, limit), ("rm", f"{limit}.gone"), left_dir=left):
        limit.write_text("low")
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def left_dir(tmp_path: Path) -> Path:
    return tmp_path / "left"


def test_a_file_has_its_text_and_mode_again_after_the_block(tmp_path: Path, left_dir: Path) -> None:
    settings = tmp_path / "portal.toml"
    settings.write_text("of the site")
    settings.chmod(0o640)

    with kept(settings, left_dir=left_dir):
        settings.unlink()
        settings.write_text("of the test")

    assert settings.read_text() == "of the site"
    assert settings.stat().st_mode & 0o777 == 0o640
    assert put_back_what_was_left(left_dir) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["portal.toml"]


def test_a_block_that_fails_is_put_back_and_its_error_is_told(
    tmp_path: Path, left_dir: Path
) -> None:
    change = tmp_path / "change"

    def fail() -> None:
        with put_back(("rm", change), left_dir=left_dir):
            change.touch()
            raise LookupError("of the test")

    with pytest.raises(LookupError, match="of the test"):
        fail()

    assert not change.exists()


def test_the_next_run_puts_back_what_a_killed_one_left_the_last_change_first(
    tmp_path: Path, left_dir: Path
) -> None:
    settings, limit = tmp_path / "portal.toml", tmp_path / "limit"
    settings.write_text("of the site")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, left_dir, settings, limit], cwd=CHECKOUT, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert settings.read_text() == "of the test"

    done = put_back_what_was_left(left_dir)

    assert settings.read_text() == "of the site"
    # It was copied before the settings were put back.
    assert limit.read_text() == "of the test"
    assert Path(f"{settings}.read-again").exists()
    # What cannot be put back is told, and in the way of nothing else.
    assert any("limit.gone" in line and "No such file" in line for line in done)
    assert not left_dir.exists()
    assert put_back_what_was_left(left_dir) == []
