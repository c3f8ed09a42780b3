"""promtool, with which the tests check the alerts: which package of Debian has it."""

from __future__ import annotations

import platform

PROGRAM = "usr/bin/promtool"
DEBIAN_12 = "12"


def package() -> str:
    """Return the package that has promtool in this release; since Debian 13 it is one of its own.

    Source:
        https://packages.debian.org/search?searchon=contents&keywords=bin/promtool
    """
    try:
        system = platform.freedesktop_os_release()
    # A container's image may lack os-release: it is taken for a newer release.
    except OSError:
        system = {}
    return "prometheus" if system.get("VERSION_ID") == DEBIAN_12 else "promtool"
