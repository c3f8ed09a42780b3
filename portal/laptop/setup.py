"""Sets a host up: checks the token, makes the key, writes the lines of ~/.ssh/config."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import asdict
from pathlib import Path

from .host import ARCHIVE, Host, SshProxyError, home_of, stanza, with_stanza, write_private

_TIMEOUT_S = 30.0


def set_up(host: Host, token: str, *, is_printed: bool) -> str:
    """Check the token, make the files of a host and return what the user is told."""
    user = ask_name(host, token)
    home = home_of(host.name)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(home / "token", token + "\n")
    write_private(home / "settings.json", json.dumps(asdict(host)))
    _make_key(home / "key")
    script = _keep_archive(home.parent / ARCHIVE)
    text = stanza(host, user, python=sys.executable, script=script)
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


def _keep_archive(kept: Path) -> Path:
    """Copy the archive that this program is to where ssh finds it: a download may be deleted."""
    archive = next((path for path in Path(__file__).parents if path.is_file()), None)
    if archive is None:
        raise SshProxyError(f"Run {ARCHIVE}, as the portal's help page about ssh offers it.")
    if not kept.exists() or not kept.samefile(archive):
        shutil.copyfile(archive, kept)
    return kept


def _make_key(path: Path) -> None:
    if path.exists():
        return
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "dsportal-ssh", "-f", str(path)]
    try:
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SshProxyError(
            f"ssh-keygen made no key ({error}). Install OpenSSH's client."
        ) from error


def ask_name(host: Host, token: str) -> str:
    """Return the user's name at the portal."""
    request = urllib.request.Request(  # noqa: S310 - parse_url leaves http and https
        host.address("hub/api/user"), headers={"Authorization": f"token {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=host.tls) as answer:  # noqa: S310
            return str(json.load(answer)["name"])
    except urllib.error.HTTPError as error:
        if error.code in {401, 403}:
            raise SshProxyError(
                "The portal refuses your token: it has expired or was revoked. Make a new one on "
                f"{host.address('hub/token')} and run: dsportal-ssh.pyz setup {host.url}"
            ) from error
        raise SshProxyError(f"{host.url} answers {error.code}. Try again in a minute.") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SshProxyError(f"{host.url} does not answer as a portal does: {error}") from error
