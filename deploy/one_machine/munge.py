"""munged, which authenticates Slurm's commands; with its own key and socket."""

import secrets

from deploy.common.command import succeeds
from deploy.common.files import ensure_folder, ensure_secret
from deploy.one_machine.layout import MUNGE_DIR, MUNGE_SOCKET
from deploy.one_machine.supervisor import ensure_running

# Source: munged(8) 0.5.15: at least 32 bytes. Written in hexadecimal digits, these are 128.
KEY_BYTES = 64
START_TIMEOUT_S = 15


def ensure_munge() -> str:
    """Create the key if it is missing, and start munged."""
    # Every account has to reach the socket in it; the key beside that is munge's alone.
    ensure_folder(MUNGE_DIR, user="munge")
    ensure_secret(MUNGE_DIR / "munge.key", secrets.token_hex(KEY_BYTES), user="munge")
    return ensure_running("munge", is_answering, timeout_s=START_TIMEOUT_S)


def is_answering() -> bool:
    """Return whether munge(1) gets a credential."""
    return succeeds(["munge", f"--socket={MUNGE_SOCKET}", "--no-input"])
