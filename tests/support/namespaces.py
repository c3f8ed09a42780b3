"""What users may do on this machine."""

import os
import subprocess

_ORDINARY_UID = 20001


def users_can_make_namespaces(*options: str) -> bool:
    """Return whether an ordinary user may have namespaces of their own.

    Args:
        options: More of unshare's options, such as "--net".
    """
    argv = ["unshare", "--user", "--map-root-user", *options, "true"]
    uid = _ORDINARY_UID if os.getuid() == 0 else None
    return subprocess.run(argv, user=uid, capture_output=True, check=False).returncode == 0


def users_can_make_network_namespaces() -> bool:
    """Return whether an ordinary user may have a network namespace of their own."""
    return users_can_make_namespaces("--net")
