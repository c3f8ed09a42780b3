"""Installs the packages of a kernel's last release for a new one, with the kernel's first cell."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dsportal.packages.installed import Package, packages_in
from dsportal.packages.overlay import Overlay, list_overlays

_OTHER_VERSIONS = "Not in these versions; trying the newest that work with this kernel."


def last_release(home: Path, kernel: str, present: Overlay) -> Overlay | None:
    """Return the newest other release of a kernel for which the user requested packages."""
    others = (overlay for overlay in list_overlays(home, kernel) if overlay != present)
    return next((overlay for overlay in others if requested_in(overlay)), None)


def requested_in(overlay: Overlay) -> list[Package]:
    """Return what the user requested, without what it depends on."""
    return [package for package in packages_in(overlay) if package.is_requested]


def install_again(
    packages: Sequence[Package], install: Callable[[Sequence[str]], bool], say: Callable[[str], Any]
) -> bool:
    """Install packages in the versions that they had, else `say` so and try any others.

    Args:
        install: Runs `pip install` with requirements; returns whether that succeeded.
    """
    if install([package.requirement for package in packages]):
        return True
    say(_OTHER_VERSIONS)
    return install([package.any_version for package in packages])


def join_names(packages: Sequence[Package]) -> str:
    """Return the names of packages for a sentence."""
    return ", ".join(package.name for package in packages)


def install_once(shell: Any, kernel: str, overlay: Overlay) -> None:
    """Install by a cell of `shell` what another release of the kernel has, and say so."""
    older = last_release(Path.home(), kernel, overlay)
    if older is None or not overlay.begin_renewal():
        return
    packages = requested_in(older)
    _say(
        f"This is a new release of the kernel {kernel}. Installing your packages for it: "
        f"{join_names(packages)}."
    )

    def install(requirements: Sequence[str]) -> bool:
        words = [str(overlay.pip), "install", "--no-input", *requirements]
        # Not captured: the cell shows how far it is, and its interrupt button ends it.
        shell.system(shlex.join(words))
        return bool(shell.user_ns.get("_exit_code") == 0)

    try:
        is_installed = install_again(packages, install, _say)
    except KeyboardInterrupt:
        is_installed = False
    if is_installed:
        _say(f"Your packages are installed for this release of the kernel {kernel}.")
    else:
        _say(
            f"Your packages are not all installed for this release of the kernel {kernel}. To try "
            f"again: dsportal packages reinstall {kernel}; to remove them: "
            f"dsportal packages reset {kernel}"
        )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
