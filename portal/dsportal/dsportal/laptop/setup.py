"""Sets a host up: checks the token, makes the key, writes the lines of ~/.ssh/config."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

from .host import ARCHIVE, Host, LaptopError, home_of, stanza, with_stanza, write_private
from .rest import Portal
from .token import keep_in_file, keep_in_keyring, read_token


def log_in(host: Host, token: str, *, in_keyring: bool = False) -> tuple[Host, str]:
    """Check the token and keep it with the host's settings.

    Args:
        in_keyring: Whether to prefer the keyring to a file.

    Returns:
        The host as it is kept, and the user's name.
    """
    user = str(Portal(host, token).me()["name"])
    home = home_of(host.name)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    host = replace(host, is_in_keyring=in_keyring and keep_in_keyring(host, token))
    if not host.is_in_keyring:
        keep_in_file(host, token)
    write_private(home / "settings.json", json.dumps(asdict(host)))
    return host, user


def known_portal(name: str) -> Portal:
    """Return the portal of a host that was set up or logged in to."""
    home = home_of(name)
    try:
        host = Host(**json.loads((home / "settings.json").read_text(encoding="utf-8")))
        return Portal(host, read_token(host))
    except FileNotFoundError as error:
        raise LaptopError(
            f"{error.filename} is missing. Run: dsportal login. For ssh, run: dsportal setup"
        ) from error
    except (OSError, ValueError, TypeError) as error:
        raise LaptopError(f"{home} cannot be read: {error}. Run: dsportal login") from error


def set_up(host: Host, token: str, *, is_printed: bool) -> str:
    """Check the token, make the files of a host and return what the user is told."""
    # ssh, and editors through it, run where nobody unlocks a keyring.
    host, user = log_in(host, token)
    home = home_of(host.name)
    _make_key(home / "key")
    text = stanza(host, user, command=_start_of(home.parent / ARCHIVE))
    if is_printed:
        return text
    config = Path.home() / ".ssh" / "config"
    old = config.read_text(encoding="utf-8") if config.exists() else ""
    if not config.exists():
        write_private(config, "")
    config.write_text(with_stanza(old, host.name, text), encoding="utf-8")
    return (
        f"{config} now has the host {host.name}. While a session runs, try: ssh {host.name} "
        "hostname"
    )


def _start_of(kept: Path) -> tuple[str, ...]:
    """Return how ssh starts this program: the archive is `kept`, since a download may go."""
    python = Path(sys.executable).as_posix()
    archive = next((path for path in Path(__file__).parents if path.is_file()), None)
    if archive is not None:
        if not kept.exists() or not kept.samefile(archive):
            shutil.copyfile(archive, kept)
        return (python, kept.as_posix())
    check_websocket()
    return (python, "-m", __package__)


def check_websocket() -> None:
    """Refuse ssh where the wheel is installed without the package that carries it."""
    if importlib.util.find_spec("websocket") is None:
        raise LaptopError(
            "ssh needs the package websocket-client beside dsportal: pip install websocket-client. "
            f"{ARCHIVE}, from the portal's help page about ssh, brings it along."
        )


def _make_key(path: Path) -> None:
    if path.exists():
        return
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "dsportal", "-f", str(path)]
    try:
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise LaptopError(f"ssh-keygen made no key ({error}). Install OpenSSH's client.") from error
