"""Builds the environments of hub and sessions in the background of the other steps."""

import os
import signal
import subprocess
from collections.abc import Sequence

from deploy.common.errors import DeployError
from deploy.environments.builder.process import clean_environment
from deploy.one_machine.layout import LOG_DIR, SOURCE_DIR

BUILDER = SOURCE_DIR / "deploy" / "environments" / "build"
LOG = LOG_DIR / "build.log"


class Build:
    """One run of the builder, in the background; `targets` are beside what the portal needs."""

    def __init__(self, targets: Sequence[str] = ()) -> None:
        self._targets = ("all", *targets)
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Start the builder."""
        self._begin()
        return f"in the background, see {LOG_DIR}/build-*.log"

    def _begin(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            # -u: its progress is shown while it runs.
            ["/usr/bin/python3", "-u", "-B", BUILDER, *self._targets],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=clean_environment(),
            # A process group that `abandon` can end as a whole.
            start_new_session=True,
        )
        return self._process

    def join(self) -> str:
        """Show the builder's output until it has ended."""
        process = self._process or self._begin()
        said: list[str] = []
        with LOG.open("a", encoding="utf-8") as log:
            for line in process.stdout or ():
                log.write(line)
                if not is_unchanged(line):
                    # The last line is the builder's summary, which becomes the outcome.
                    print("".join(f"\n        {one}" for one in said[-1:]), end="", flush=True)
                    said.append(line.rstrip())
        last = said[-1] if said else ""
        if process.wait() != 0:
            raise DeployError(
                f"The environments could not be built. {last}".strip(),
                next_step="Read the log, then run deploy/up again: it keeps what is finished.",
                log=LOG,
            )
        return "\n        " * (len(said) > 1) + (last or "ready")

    def abandon(self) -> None:
        """Stop the builder if it still runs."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()


def is_unchanged(line: str) -> bool:
    """Return whether a line of the builder only says that a target is current."""
    return line.split()[1:] == ["unchanged"]
