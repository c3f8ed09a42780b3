"""Settings of git for one session, in the environment that its programs inherit.

Nothing is written to the user's files, and what user or site have set stays as it is.
"""

import os
import subprocess
from collections.abc import Collection, Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

# A working day. The session's end removes them in any case.
CREDENTIALS_KEPT_S = 8 * 60 * 60
_ANSWER_TIMEOUT_S = 5
_ATTRIBUTES = Path(__file__).with_name("notebooks.gitattributes")
_COUNT = "GIT_CONFIG_COUNT"


def offer_git(environ: MutableMapping[str, str], prefix: Path, private_dir: Path) -> None:
    """Set git up for everything that inherits `environ`.

    Args:
        environ: Gets GIT_CONFIG_COUNT, GIT_CONFIG_KEY_<n> and GIT_CONFIG_VALUE_<n>.
        prefix: Environment that has nbdime.
        private_dir: Folder on the node that only the user can enter.
    """
    socket = credential_socket(private_dir)
    with suppress(OSError):
        # git refuses a folder that others may enter.
        socket.parent.mkdir(mode=0o700, exist_ok=True)
    settings = git_settings(prefix, socket if socket.parent.is_dir() else None)
    chosen = {*_chosen_names(environ)}
    if _has_attributes(environ):
        # Another file for attributes would hide this one.
        chosen.add("core.attributesfile")
    add_settings(environ, {k: v for k, v in settings.items() if k.lower() not in chosen})


def credential_socket(private_dir: Path) -> Path:
    """Return the socket of the process that keeps passwords in its memory."""
    return private_dir / "git" / "credentials"


def git_settings(prefix: Path, socket: Path | None) -> dict[str, str]:
    """Return git's variables for a session, by their names.

    Source:
        git-config(1), safe.bareRepository: a cloned repository may hold a bare one as a folder,
        with programs in its configuration. Of other users' repositories git runs nothing by itself.
        nbdime 4, "Version control integration".
    """
    settings = {"safe.bareRepository": "explicit"}
    programs = prefix / "bin"
    if (programs / "git-nbdiffdriver").exists():
        merge = f"{programs}/git-nbmergedriver merge %O %A %B %L %P"
        settings |= {
            "core.attributesFile": str(_ATTRIBUTES),
            "diff.jupyternotebook.command": f"{programs}/git-nbdiffdriver diff",
            "merge.jupyternotebook.name": "Jupyter notebooks",
            "merge.jupyternotebook.driver": merge,
        }
    if socket is not None:
        # As a command: for the word "cache" alone, the Git panel starts a process of its own, with
        # a socket in the home.
        cache = f"!git credential-cache --timeout={CREDENTIALS_KEPT_S} --socket={socket}"
        settings["credential.helper"] = cache
        # The terminal in which it started may be closed.
        settings["credentialCache.ignoreSIGHUP"] = "true"
    return settings


def add_settings(environ: MutableMapping[str, str], settings: Mapping[str, str]) -> None:
    """Add `settings` to those that `environ` has for git.

    Source:
        git-config(1), ENVIRONMENT.
    """
    text = environ.get(_COUNT, "")
    first = int(text) if text.isdecimal() else 0
    for n, (key, value) in enumerate(settings.items(), first):
        environ[f"GIT_CONFIG_KEY_{n}"] = key
        environ[f"GIT_CONFIG_VALUE_{n}"] = value
    environ[_COUNT] = str(first + len(settings))


def forget_credentials(private_dir: Path) -> None:
    """End the process that keeps passwords, if there is one."""
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            ["git", "credential-cache", f"--socket={credential_socket(private_dir)}", "exit"],
            check=False,
            timeout=_ANSWER_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _chosen_names(environ: Mapping[str, str]) -> Collection[str]:
    """Return the names of variables that user or site have set, in small letters."""
    # In a folder that is no repository, whose settings would be for its own files only.
    command = ["git", "config", "--null", "--name-only", "--includes", "--list"]
    try:
        listed = subprocess.run(
            command,
            check=False,
            capture_output=True,
            cwd="/",
            env=dict(environ),
            timeout=_ANSWER_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError):
        # No git, or a home that does not answer.
        return ()
    return listed.stdout.decode("utf-8", "replace").lower().split("\0")


def _has_attributes(environ: Mapping[str, str]) -> bool:
    folder = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", ""), ".config")
    return os.path.exists(os.path.join(folder, "git", "attributes"))
