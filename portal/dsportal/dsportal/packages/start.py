"""Starts a shipped kernel with the user's own packages: `python -m dsportal.packages.start`.

    python -I -m dsportal.packages.start KERNEL RELEASE -- ARGUMENTS OF PYTHON

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

from dsportal.packages import extension
from dsportal.packages.installed import package_named_in
from dsportal.packages.overlay import Overlay, find_overlay, this_environment
from dsportal.packages.renewal import last_release

SWITCH = "PORTAL_PACKAGES"
COMMANDS = "PORTAL_COMMANDS"
KERNEL = "PORTAL_KERNEL"
# The prefix of the shipped environment; the kernel's own sys.prefix is the overlay.
ENVIRONMENT = "PORTAL_ENVIRONMENT"
CHECK_TIMEOUT_S = 30
# The files of what was imported tell whose module hid one that the kernel needs.
_CHECK = """\
import sys
try:
    import ipykernel.kernelapp, ipykernel.zmqshell
except BaseException:
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    print(*files, sep="\\n", file=sys.stderr)
    raise
"""
_SHOWN_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class Choice:
    """How a kernel starts.

    Attributes:
        overlay: The packages to start with, or None.
        note: Printed with the first cell, or "".
        pip: The program that `%pip` runs, or None for IPython's own way.
        renews: Whether the first cell installs the packages of the kernel's last release.
    """

    overlay: Overlay | None
    note: str = ""
    pip: Path | None = None
    renews: bool = False


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
        _become(kernel, choose(Path.home(), kernel, release, os.environ), rest[1:])
    return _make(kernel, release)


def _make(kernel: str, release: str) -> int:
    try:
        find_overlay(Path.home(), kernel, release).make(this_environment())
    except OSError as error:
        print(f"{error.filename or Path.home()}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _become(kernel: str, choice: Choice, arguments: Sequence[str]) -> NoReturn:
    python = Path(sys.executable)
    # In front: the server's environment has a dsportal of its own, which knows no kernels.
    folders = [os.environ.get(COMMANDS, ""), os.environ.get("PATH", os.defpath)]
    if choice.overlay is not None:
        python = choice.overlay.python
        folders.insert(0, str(python.parent))
    os.environ["PATH"] = ":".join(filter(None, folders))
    os.environ[ENVIRONMENT] = sys.prefix
    os.environ[KERNEL] = kernel
    if choice.note:
        print(choice.note, file=sys.stderr, flush=True)
    told = {
        extension.NOTE: choice.note,
        extension.PIP: str(choice.pip or ""),
        extension.RENEWAL: kernel if choice.renews else "",
    }
    os.environ.update({name: text for name, text in told.items() if text})
    loaded = f"--IPKernelApp.extra_extensions={extension.NAME}"
    # Our own interpreter or a link to it, with the arguments of the kernelspec.
    os.execv(python, [str(python), *arguments, loaded])  # noqa: S606


def choose(home: Path, kernel: str, release: str, environ: MutableMapping[str, str]) -> Choice:
    """Decide whether a kernel starts with the user's packages; create or update their overlay.

    PORTAL_PACKAGES=off in `environ` leaves the packages out.
    """
    overlay = find_overlay(home, kernel, release)
    if environ.get(SWITCH) == "off":
        # Nothing is made: a rescue session writes nothing into the home.
        return Choice(None, pip=overlay.pip if overlay.pip.exists() else None)
    try:
        overlay.make(this_environment())
        if overlay.is_off:
            return Choice(
                None,
                f"Your own packages for {kernel} are switched off. "
                f"To have them again: dsportal packages on {kernel}",
                overlay.pip,
            )
        if overlay.is_empty():
            return _without_packages_yet(home, kernel, overlay)
        if overlay.is_checked:
            return Choice(overlay, pip=overlay.pip)
        if words := _why_not(overlay):
            return Choice(None, _broken(kernel, overlay, words), overlay.pip)
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
    return Choice(overlay, pip=overlay.pip)


def _without_packages_yet(home: Path, kernel: str, overlay: Overlay) -> Choice:
    older = last_release(home, kernel, overlay)
    if older is None:
        return Choice(overlay, pip=overlay.pip)
    if not overlay.is_renewed and not older.is_off:
        return Choice(overlay, pip=overlay.pip, renews=True)
    return Choice(
        overlay,
        f"This is a new release of the kernel {kernel}. Your packages are still those of "
        f"{older.folder.name}. To install them for this one: dsportal packages reinstall "
        f"{kernel}; to remove them: dsportal packages reset {kernel}",
        overlay.pip,
    )


def _broken(kernel: str, overlay: Overlay, words: str) -> str:
    last_line = words.splitlines()[-1][-_SHOWN_ERROR_CHARS:]
    package = package_named_in(overlay, words)
    if package is None:
        cause, remedy = f"packages in {overlay.folder}", ""
    else:
        cause = f"package {package.name} {package.version}, in {overlay.folder}"
        remedy = f"To remove it: %pip uninstall --yes {package.name}, then restart the kernel. "
    return (
        f"This kernel does not start with your {cause}, so it runs without your packages "
        f"({last_line}). {remedy}To remove all of them: dsportal packages reset {kernel}"
    )


def _why_not(overlay: Overlay) -> str:
    """Return what a kernel prints that fails with these packages, or "" if it starts."""
    try:
        done = subprocess.run(
            [overlay.python, "-c", _CHECK],
            # "-c" imports from the current folder first, which is the notebook's.
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
    return done.stderr.decode("utf-8", "replace").strip() or "no output"


if __name__ == "__main__":
    sys.exit(main())
