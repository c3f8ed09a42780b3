"""Podman with images and containers of its own, away from those of the machine."""

import contextlib
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.foreign.guide import steps_of
from tests.support.eventually import eventually

GUIDE = Path(__file__).parents[3] / "docs/tutorial/container.md"
# vfs copies every layer; it works on any file system.
STORAGE_DRIVERS = ("overlay", "vfs")


@dataclass(frozen=True, kw_only=True)
class Podman:
    """The program, and where it keeps everything."""

    folder: Path
    storage_driver: str

    def run(
        self,
        *words: str,
        timeout_s: float = 120,
        stdin: Path | None = None,
        cwd: Path | None = None,
    ) -> str:
        """Run podman to its end and return all that it said."""
        with contextlib.ExitStack() as stack:
            given = stack.enter_context(stdin.open("rb")) if stdin else subprocess.DEVNULL
            done = subprocess.run(
                [*self._argv, *words],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=timeout_s,
                check=False,
                cwd=cwd,
            )
        assert done.returncode == 0, (
            f"{shlex.join(words)}: {done.returncode}\n{done.stdout[-6000:]}"
        )
        return done.stdout

    @property
    def _argv(self) -> Sequence[str]:
        return (
            "podman",
            *("--root", str(self.folder / "storage"), "--runroot", str(self.folder / "run")),
            *("--storage-driver", self.storage_driver),
            # Without systemd on the machine.
            *("--cgroup-manager", "cgroupfs", "--events-backend", "file"),
        )


@contextlib.contextmanager
def private_podman(folder: Path) -> Iterator[Podman]:
    """Keep everything in a folder, and leave nothing.

    Args:
        folder: An empty one.
    """
    podman = Podman(folder=folder, storage_driver=_storage_driver(folder))
    try:
        yield podman
    finally:
        podman.run("stop", "--all", "--time", "60")
        # What a container has mounted may be in use for a moment after its end.
        eventually(lambda: podman.run("rm", "--all", "--force") or True, timeout_s=60)
        for mount in _mounts_under(folder):
            subprocess.run(["umount", "--lazy", mount], check=True)
        shutil.rmtree(folder)


def documented(command: str, replaced: Mapping[str, str]) -> list[str]:
    """Return a command of the guide, without the word podman.

    Args:
        command: How it starts, such as "podman run".
        replaced: Words of the guide, and those that stand here in their place; none where empty.
    """
    commands = [c for step in steps_of(GUIDE.read_text(), {"none": "none"}) for c in step.commands]
    (found,) = [words for words in map(shlex.split, commands) if shlex.join(words[:2]) == command]
    assert set(replaced) <= set(found)
    return [new for word in found[1:] for new in shlex.split(replaced.get(word, shlex.quote(word)))]


def _storage_driver(folder: Path) -> str:
    for driver in STORAGE_DRIVERS:
        with contextlib.suppress(AssertionError):
            Podman(folder=folder, storage_driver=driver).run("info")
            return driver
        # What a driver that does not work here has begun keeps the next one from being taken.
        shutil.rmtree(folder)
        folder.mkdir()
    raise AssertionError(f"podman can keep images in {folder} with none of {STORAGE_DRIVERS}")


def _mounts_under(folder: Path) -> list[str]:
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((m for m in mounts if Path(m).is_relative_to(folder)), reverse=True)
