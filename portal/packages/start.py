"""Starts a shipped kernel with the user's own packages: `python -m portal.packages.start`.

    python -I -m portal.packages.start KERNEL RELEASE -- ARGUMENTS OF PYTHON

Nothing in the home can keep a kernel from starting: if need be it starts without the packages, and
its first cell says why. Without arguments of Python only the overlay is made.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from portal.packages.note import EXTENSION, VARIABLE
from portal.packages.overlay import Overlay, overlay_of, releases_of, this_environment

SWITCH = "PORTAL_PACKAGES"
COMMANDS = "PORTAL_COMMANDS"
# The prefix of the shipped environment; the kernel's own sys.prefix is the overlay.
ENVIRONMENT = "PORTAL_ENVIRONMENT"
CHECK_TIMEOUT_S = 30
_CHECK = "import ipykernel.kernelapp, ipykernel.zmqshell"
_LAST_WORDS_CHARS = 300


@dataclass(frozen=True, slots=True)
class Choice:
    """How a kernel starts.

    Attributes:
        overlay: The packages to start with, or None.
        note: Printed with the first cell, or "".
    """

    overlay: Overlay | None
    note: str = ""


def main(argv: Sequence[str] = sys.argv) -> int:
    """Replace this process by the kernel.

    Args:
        argv: Program name, kernel, release, "--" and the arguments of Python.

    Returns:
        Only without arguments of Python: 0, or 1 if the overlay could not be made.
    """
    _, kernel, release, *rest = argv
    if rest:
        # Without the "--".
        _become(choose(Path.home(), kernel, release, os.environ), rest[1:])
    return _make(kernel, release)


def _make(kernel: str, release: str) -> int:
    try:
        overlay_of(Path.home(), kernel, release).make(this_environment())
    except OSError as error:
        print(f"{error.filename or Path.home()}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _become(choice: Choice, arguments: Sequence[str]) -> NoReturn:
    python = Path(sys.executable)
    # In front: each shipped environment has a dsportal of its own, which knows no kernels.
    folders = [os.environ.get(COMMANDS, ""), os.environ.get("PATH", os.defpath)]
    if choice.overlay is not None:
        python = choice.overlay.python
        folders.insert(0, str(python.parent))
    os.environ["PATH"] = ":".join(filter(None, folders))
    os.environ[ENVIRONMENT] = sys.prefix
    told = []
    if choice.note:
        print(choice.note, file=sys.stderr, flush=True)
        os.environ[VARIABLE] = choice.note
        told = [f"--IPKernelApp.extra_extensions={EXTENSION}"]
    # Our own interpreter or a link to it, with the arguments of the kernelspec.
    os.execv(python, [str(python), *arguments, *told])  # noqa: S606


def choose(home: Path, kernel: str, release: str, environ: MutableMapping[str, str]) -> Choice:
    """Decide whether a kernel starts with the user's packages; create or update their overlay.

    PORTAL_PACKAGES=off in `environ` leaves the packages out.
    """
    overlay = overlay_of(home, kernel, release)
    if environ.get(SWITCH) == "off":
        return Choice(None)
    try:
        if overlay.is_off:
            return Choice(
                None,
                f"Your own packages for {kernel} are switched off. "
                f"To have them again: dsportal packages on {kernel}",
            )
        overlay.make(this_environment())
        if overlay.is_empty():
            return Choice(overlay, _offer_of_older(home, kernel, overlay))
        if overlay.is_checked:
            return Choice(overlay)
        if why := _why_not(overlay):
            return Choice(
                None,
                f"This kernel does not start with your packages in {overlay.folder}, so it runs "
                f"without them ({why}). To remove them: dsportal packages reset {kernel}",
            )
    except OSError as error:
        return Choice(
            None,
            f"This kernel runs without your own packages, and %pip cannot install any: "
            f"{overlay.folder} cannot be used ({error.strerror}). "
            "Make room in your home folder, then restart the kernel.",
        )
    try:
        overlay.remember_checked()
    except OSError as error:
        print(f"{overlay.folder}: {error.strerror}", file=sys.stderr)
    return Choice(overlay)


def _why_not(overlay: Overlay) -> str:
    """Return the last line of a kernel that fails with these packages, or "" if it starts."""
    try:
        done = subprocess.run(
            [overlay.python, "-c", _CHECK],
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CHECK_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        # A timeout on a slow machine is no fault of the packages.
        return ""
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no output"]
    return lines[-1][-_LAST_WORDS_CHARS:]


def _offer_of_older(home: Path, kernel: str, overlay: Overlay) -> str:
    older = [one for one in releases_of(home, kernel) if one != overlay and not one.is_empty()]
    if not older:
        return ""
    return (
        f"This is a new release of the kernel {kernel}. Your packages are still those of "
        f"{older[0].folder.name}. To install them for this one: dsportal packages reinstall "
        f"{kernel}; to remove them: dsportal packages reset {kernel}"
    )


if __name__ == "__main__":
    sys.exit(main())
