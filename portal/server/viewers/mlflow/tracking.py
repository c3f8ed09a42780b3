"""Where kernels and ranks log runs of MLflow: a folder of the home.

Runs are files, which several nodes can write at once on network storage; SQLite, MLflow's default,
locks its file, which many network file systems do not support.
"""

import os
from collections.abc import MutableMapping
from pathlib import Path

from portal.settings.session_tables import SessionTables

FOLDER = "mlruns"
# Without the first, MLflow refuses folders; without the second, it reports its use to its makers.
VARIABLES = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}


def offer_mlflow(environ: MutableMapping[str, str], settings: SessionTables) -> None:
    """Have kernels and ranks log to one folder, unless the site or `environ` says otherwise.

    Also where nothing shows the pages: the kernels have what is needed to log.
    """
    if settings.mlflow_python:
        for name, value in {"MLFLOW_TRACKING_URI": tracking_uri(), **VARIABLES}.items():
            environ.setdefault(name, value)


def has_mlflow(settings: SessionTables) -> bool:
    """Return whether sessions on this node show the pages."""
    return bool(settings.mlflow_python) and os.access(settings.mlflow_python, os.X_OK)


def tracking_uri() -> str:
    """Return the address of the folder, as MLflow wants it."""
    return (Path.home() / FOLDER).as_uri()
