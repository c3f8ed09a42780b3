"""MLflow as a web tool of sessions: its pages on a folder of the home, where kernels log runs.

Runs are files, which several nodes can write at once on network storage; SQLite, MLflow's default,
locks its file, which many network file systems do not support.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from spawner.session_settings import SessionSettings, Tool

FOLDER = "mlruns"
# Without the first, MLflow refuses folders; without the second, it reports its use to its makers.
_VARIABLES = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
# Nothing of the user's is imported into it: neither from a folder nor from ~/.local.
_APART = ("-u", "PYTHONPATH", "PYTHONNOUSERSITE=1", "PYTHONSAFEPATH=1")


def offer_mlflow(environ: MutableMapping[str, str], settings: SessionSettings) -> None:
    """Have kernels and ranks log to the folder that the pages show, unless `environ` says where."""
    if has_mlflow(settings):
        for name, value in {"MLFLOW_TRACKING_URI": _folder_uri(), **_VARIABLES}.items():
            environ.setdefault(name, value)


def mlflow_tool(settings: SessionSettings) -> Tool | None:
    """Return the tool, or None if the site has switched it off or this node lacks it.

    Source:
        mlflow 3.17, `mlflow server --help`. Its checks of Host and Origin know only localhost and
        would refuse the portal's own pages; in their place are the login, a socket that only the
        user can open, and an address that cannot be guessed.
    """
    if not has_mlflow(settings):
        return None
    command = (
        *("/usr/bin/env", *_APART, *(f"{name}={value}" for name, value in _VARIABLES.items())),
        # Neither programs that its pages start, nor files that others upload.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false",
        *(settings.mlflow_python, "-m", "mlflow", "server", "--no-serve-artifacts"),
        *("--backend-store-uri", _folder_uri(), "--disable-security-middleware"),
        *("--workers", "1", "--uvicorn-opts", "--uds {unix_socket}"),
    )
    return Tool(name="mlflow", title="MLflow", command=command)


def has_mlflow(settings: SessionSettings) -> bool:
    """Return whether sessions on this node have it."""
    return bool(settings.mlflow_python) and os.access(settings.mlflow_python, os.X_OK)


def _folder_uri() -> str:
    return (Path.home() / FOLDER).as_uri()
