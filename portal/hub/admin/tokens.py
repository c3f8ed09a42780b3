"""Tokens of the site's own services: made once, readable only by the hub's account."""

import os
import secrets
from pathlib import Path
from typing import Any

from spawner.errors import SiteError

OPERATOR = "operator"
# With this one the hub tells the proxy its routes.
PROXY = "proxy"
# What each may do at the hub, and nothing else.
SCOPES = {
    OPERATOR: ["list:users", "read:users", "admin:servers", "read:metrics"],
}
_N_BYTES = 32


def read_token(state_dir: Path, name: str) -> str:
    """Return the token of a service: `name` is `OPERATOR` or `PROXY`."""
    path = token_path(state_dir, name)
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise SiteError(
            f"{path} cannot be read: {error.strerror}. The hub makes it when it starts. Read it as"
            " root or as the hub's account."
        ) from error


def ensure_token(state_dir: Path, name: str) -> str:
    """Return the token of a service, see `read_token`; make it if there is none.

    Returns:
        Empty if the folder belongs to another account; the service then has no rights.
    """
    path = token_path(state_dir, name)
    try:
        # Root may load the configuration, too, but must not own what the hub has to read.
        if state_dir.stat().st_uid != os.geteuid():
            return ""
        # O_EXCL: a token that exists is never overwritten. Mode 0600 from the first moment.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(_N_BYTES) + "\n")
    # Made at an earlier start, or by another process just now.
    except FileExistsError:
        pass
    except OSError:
        return ""
    return path.read_text(encoding="ascii").strip()


def site_services(state_dir: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return `JupyterHub.services` and `JupyterHub.load_roles` for the site's own services."""
    tokens = {name: ensure_token(state_dir, name) for name in SCOPES}
    services = [
        {"name": f"dsportal-{name}", "api_token": token} for name, token in tokens.items() if token
    ]
    roles = [
        {"name": f"dsportal-{name}", "scopes": SCOPES[name], "services": [f"dsportal-{name}"]}
        for name, token in tokens.items()
        if token
    ]
    return services, roles


def token_path(state_dir: Path, name: str) -> Path:
    """Return the file of a service's token, see `read_token`."""
    return state_dir / f"{name}-token"
