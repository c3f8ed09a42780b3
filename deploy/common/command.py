"""Runs system programs: argv lists, clean environment, timeouts, readable errors."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from deploy.common.errors import CommandError, DeployError

# The caller's own Python, locale or library settings must not reach a daemon.
CLEAN_ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
POLL_S = 0.1


def run(
    argv: Sequence[str | Path],
    *,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 60,
) -> str:
    """Run a program to its end; return its standard output."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            # The way for secrets: everybody can read command lines.
            input=stdin,
            env={**CLEAN_ENVIRONMENT, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CommandError(words, None, "") from error
    except FileNotFoundError as error:
        raise DeployError(
            f"There is no program '{words[0]}' on this machine.",
            next_step="Install the package that has it; deploy/up without --only does that.",
        ) from error
    if done.returncode != 0:
        raise CommandError(words, done.returncode, done.stdout + done.stderr)
    return done.stdout


def succeeds(argv: Sequence[str | Path], *, timeout_s: float = 20) -> bool:
    """Return whether a program ends with status 0.

    Returns:
        False also if it does not end in time or does not exist.
    """
    try:
        run(argv, timeout_s=timeout_s)
    except DeployError:
        return False
    return True


def wait_until(
    is_so: Callable[[], bool],
    *,
    timeout_s: float,
    what: str,
    log: Path | None = None,
) -> None:
    """Poll until a condition holds.

    Args:
        is_so: Called every 0.1 s.
        timeout_s: Longest wait.
        what: The condition, as the end of the sentence "This did not happen within N s: ...".
        log: The file that says why it may take so long.
    """
    end = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > end:
            raise DeployError(
                f"This did not happen within {timeout_s:.0f} s: {what}.",
                next_step="Read the end of the log, then run the command again.",
                log=log,
            )
        time.sleep(POLL_S)
