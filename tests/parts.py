"""Stop and start single parts of the one-machine portal, as an operator would."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEPLOY_DIR = Path(__file__).parent.parent / "deploy"


def start(part: str) -> None:
    """Start one part, for example slurmctld."""
    _deploy("up", part)


def stop(part: str) -> None:
    """Stop one part."""
    _deploy("down", part)


@contextmanager
def stopped(part: str) -> Iterator[None]:
    """Keep one part stopped for a while."""
    stop(part)
    try:
        yield
    finally:
        start(part)


def _deploy(program: str, part: str) -> None:
    done = subprocess.run(
        [str(DEPLOY_DIR / program), "--only", part],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"deploy/{program} --only {part}:\n{done.stdout}\n{done.stderr}")
