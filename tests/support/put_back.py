"""Put back what a test changes on this machine; if its run is killed, the next run does it."""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Of this machine, not of a checkout: the next run may be started from another one.
LEFT_DIR = Path("/var/lib/data-scientist-portal-tests")
TIMEOUT_S = 120


@contextmanager
def put_back(*commands: Sequence[str | Path], left_dir: Path = LEFT_DIR) -> Iterator[None]:
    """Run commands at the end of the block.

    They are written down before it, for a run that is killed inside it.

    Args:
        commands: Programs with their arguments. They must do no harm if the block has changed
            nothing yet.
    """
    left_dir.mkdir(mode=0o700, exist_ok=True)
    record = left_dir / f"{time.time_ns()}.json"
    words = [[str(word) for word in command] for command in commands]
    record.write_text(json.dumps(words))
    try:
        yield
    finally:
        for command in words:
            subprocess.run(command, check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        record.unlink()


@contextmanager
def kept(path: Path, *commands: Sequence[str | Path], left_dir: Path = LEFT_DIR) -> Iterator[None]:
    """Put a file back as it was, then run commands, at the end of the block.

    Args:
        commands: As in `put_back`, such as what reads the file again.
    """
    left_dir.mkdir(mode=0o700, exist_ok=True)
    copy = Path(tempfile.mkdtemp(dir=left_dir)) / path.name
    subprocess.run(["cp", "--archive", path, copy], check=True, timeout=TIMEOUT_S)
    # Moved into its place, so that no program reads half of it.
    beside = path.with_name(f"{path.name}.put-back")
    copy_beside = ("cp", "--archive", copy, beside)
    with put_back(copy_beside, ("mv", "--force", beside, path), *commands, left_dir=left_dir):
        yield
    shutil.rmtree(copy.parent)


def put_back_what_was_left(left_dir: Path = LEFT_DIR) -> list[str]:
    """Put back what runs before this one changed and left so, the last change first.

    Returns:
        The commands that were run, each with its error if it failed.
    """
    done = []
    for record in sorted(left_dir.glob("*.json"), reverse=True):
        for command in json.loads(record.read_text()):
            result = subprocess.run(
                command, check=False, timeout=TIMEOUT_S, capture_output=True, text=True
            )
            error = f": {result.stderr.strip()}" if result.returncode else ""
            done.append(f"{' '.join(command)}{error}")
        record.unlink()
    shutil.rmtree(left_dir, ignore_errors=True)
    return done


def cancel_jobs() -> list[str]:
    """Cancel all jobs of the demo cluster, such as a session of a run that was killed."""
    squeue = ["squeue", "--noheader", "--format=%i"]
    jobs = subprocess.run(squeue, check=True, timeout=60, capture_output=True, text=True).stdout
    if jobs.split():
        subprocess.run(["scancel", *jobs.split()], check=True, timeout=60)
    return jobs.split()


if __name__ == "__main__":
    for line in put_back_what_was_left():
        print(f"put back: {line}")
    for job_id in cancel_jobs():
        print(f"cancelled: job {job_id} of a run before")
