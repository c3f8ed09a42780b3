"""Builds the environments of hub and sessions in the background of the other steps."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence

from deploy.common.errors import DeployError
from deploy.environments.builder.process import clean_environment
from deploy.one_machine.layout import LOG_DIR, SOURCE_DIR

BUILDER = SOURCE_DIR / "deploy" / "environments" / "build"
LOG = LOG_DIR / "build.log"
POLL_S = 0.2


class Build:
    """One run of the builder, in the background."""

    def __init__(self, targets: Sequence[str] = ()) -> None:
        self._targets = ("all", *targets)
        self._process: subprocess.Popen[bytes] | None = None
        self._start_offset = 0

    def start(self) -> str:
        """Start the builder."""
        self._begin()
        return f"in the background, see {LOG}"

    def _begin(self) -> subprocess.Popen[bytes]:
        with LOG.open("ab") as log:
            # The log keeps earlier builds, and only this one's lines are shown.
            self._start_offset = log.tell()
            self._process = subprocess.Popen(
                # -u: its progress is shown while it runs.
                ["/usr/bin/python3", "-u", "-B", BUILDER, *self._targets],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=clean_environment(),
                # A process group that `abandon` can end as a whole.
                start_new_session=True,
            )
        return self._process

    def join(self) -> str:
        """Show the builder's output until it has ended."""
        process = self._process or self._begin()
        news: list[str] = []
        n_shown = 0
        with LOG.open(encoding="utf-8", errors="replace") as log:
            log.seek(self._start_offset)
            while True:
                # Before the log is read, so that the last lines are not missed.
                has_ended = process.poll() is not None
                news += [line for line in log.read().splitlines() if not is_unchanged(line)]
                # The last line is the builder's summary, which becomes the outcome.
                for line in news[n_shown:-1]:
                    print(f"\n        {line}", end="", flush=True)
                    n_shown += 1
                if has_ended:
                    break
                time.sleep(POLL_S)
        if process.returncode != 0:
            raise DeployError(
                f"The environments could not be built. {news[-1] if news else ''}".strip(),
                next_step="Read the log, then run deploy/up again: it keeps what is finished.",
                log=LOG,
            )
        return "\n        " * bool(n_shown) + (news[-1] if news else "ready")

    def abandon(self) -> None:
        """Stop the builder if it still runs."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()


def is_unchanged(line: str) -> bool:
    """Return whether a line of the builder only says that a target is current."""
    return line.split()[1:] == ["unchanged"]
