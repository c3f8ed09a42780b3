"""The user's own Jupyter configuration: named in the log by the node, read there by the hub.

Whatever a file holds that a user has forgotten, the session starts: settings that only the portal
can decide are dropped from it, and a server that fails to load begins again without it.
"""

import re
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

# JupyterHub's own switch, read while a server loads.
SWITCH = "JUPYTERHUB_DISABLE_USER_CONFIG"
NEXT_STEP = (
    "Start a rescue session, which reads no such file, and correct or remove it there. Or show the"
    " log to the administrators."
)
# Of ServerApp: where it listens, what it serves, and whom it asks who somebody is.
_PORTALS = frozenset(
    {
        *("ip", "port", "port_retries", "sock", "sock_mode", "base_url", "custom_display_url"),
        *("certfile", "keyfile", "client_ca", "ssl_options", "root_dir", "notebook_dir"),
        *(
            "preferred_dir",
            "contents_manager_class",
            "kernel_manager_class",
            "session_manager_class",
        ),
        *("kernel_spec_manager_class", "identity_provider_class", "authorizer_class"),
        *("login_handler_class", "logout_handler_class", "allow_remote_access", "trust_xheaders"),
    }
)
_PATTERNS = ("jupyter*config.py", "jupyter*config.json", "jupyter*config.d/*.json")
_READ = re.compile(r"Your own Jupyter configuration: (?P<files>[^\n]+)")
# In a traceback or in the server's own words.
_OWN_PATH = re.compile(r"/[^\s'\":,]*/\.(?:jupyter|ipython|local/share/jupyter)\b[^\s'\":,]*")
_WITHOUT = "The session runs without your own Jupyter configuration"


def find_own_files(environ: Mapping[str, str]) -> list[str]:
    """Return the files of a user's own configuration, as the user writes them ("~/...")."""
    home = environ.get("HOME", "/")
    folder = Path(environ.get("JUPYTER_CONFIG_DIR") or f"{home}/.jupyter")
    # A rescue session has its own folder, outside of the home.
    if SWITCH in environ or not folder.is_relative_to(home):
        return []
    found = [path for pattern in _PATTERNS for path in folder.glob(pattern)]
    return sorted(f"~/{path.relative_to(home)}" for path in found)


def reading_sentence(files: list[str]) -> str:
    """Return the line of the log that says which own files are read."""
    return f"Your own Jupyter configuration: {', '.join(files)}"


def without_sentence(files: list[str]) -> str:
    """Return what a user is told whose configuration kept the server from loading."""
    return (
        f"{_WITHOUT}, with which the notebook server does not start. The session's log says why."
        f" Correct or remove: {', '.join(files)}"
    )


def blame(log_lines: str) -> str:
    """Return the own files that may be why a session ended before it answered, or "".

    Args:
        log_lines: The end of its log. The session's user may have written it.
    """
    read = _READ.findall(log_lines)
    if read and _WITHOUT not in log_lines:
        return str(read[-1])
    named = _OWN_PATH.findall(log_lines)
    return str(named[-1]) if named else ""


def drop_portals_settings(config: MutableMapping[str, Any]) -> Iterator[str]:
    """Remove from `config`, one file's, what only the portal can decide; yield the names."""
    for section in ("ServerApp", "NotebookApp"):
        for name in sorted(_PORTALS.intersection(config.get(section, ()))):
            del config[section][name]
            yield f"{section}.{name}"
