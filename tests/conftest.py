"""After a failed test on the cluster: what the parts of the portal said."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

LOG_DIR = Path("/var/log/data-scientist-portal")
LOG_NAMES = ("hub", "slurmctld", "node01", "node02")
# Where spawner/programs/launcher.py lets Slurm write what a session's job says.
SESSION_LOGS = "*/.local/state/data-scientist-portal/logs/session-*.log"
N_LINES = 40
N_BYTES = 64_000


def tail(path: Path) -> str:
    """Return the last lines of a log.

    Args:
        path: The log; may be missing.

    Returns:
        At most N_LINES lines, or a sentence about why there are none.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - N_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "\n".join(text.splitlines()[-N_LINES:])


def logs() -> Iterator[Path]:
    """Yield the logs that tell most about a failed test."""
    yield from (LOG_DIR / f"{name}.log" for name in LOG_NAMES)
    sessions = sorted(Path("/home").glob(SESSION_LOGS), key=lambda path: path.stat().st_mtime)
    yield from sessions[-1:]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and item.get_closest_marker("cluster"):
        report.sections += [(f"end of {path}", tail(path)) for path in logs()]
    return report
