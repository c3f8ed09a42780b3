"""Viewers of folders: TensorBoard and MLflow."""

import asyncio
import os
from typing import Any

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.shared_storage import read_storage
from portal.server.viewers.handlers import local_page_route, page_routes
from portal.server.viewers.mlflow.pages import MLFLOW, MlflowPages
from portal.server.viewers.mlflow.proxy import MlflowProxy
from portal.server.viewers.mlflow.tracking import has_mlflow, offer_mlflow
from portal.server.viewers.pages import FolderPages
from portal.server.viewers.viewer import TENSORBOARD
from portal.settings.session_tables import SessionTables


def load(shared: Shared) -> Feature:
    """Offer both, and let cells log to MLflow and open a TensorBoard."""
    settings, server = shared.settings, shared.server
    offer_mlflow(os.environ, settings)
    where: dict[str, Any] = {
        "root_dir": server.root_dir,
        "base_url": server.base_url,
        "shared_dirs": tuple(read_storage(os.environ).values()),
        "private_dir": shared.private_dir,
        "log": shared.log,
    }
    tensorboards = FolderPages(
        TENSORBOARD,
        python=tensorboard_python(settings),
        limits=settings.tensorboard,
        has_next=True,
        **where,
    )
    mlflow = MlflowPages(
        MLFLOW,
        python=settings.mlflow_python,
        limits=settings.mlflow,
        **where,
    )

    shared.program_names += [tensorboards.names, mlflow.names]

    async def stop() -> None:
        await asyncio.gather(tensorboards.stop_all(), mlflow.stop_all())

    return Feature(
        routes=[*page_routes(tensorboards), *page_routes(mlflow, MlflowProxy)],
        local_routes=[local_page_route(tensorboards)],
        page_data={"portalMlflow": "yes" if has_mlflow(settings) else ""},
        stop=stop,
    )


def tensorboard_python(settings: SessionTables) -> str:
    """Return the Python that has TensorBoard, with its profiler where this node has it."""
    environments = settings.environments
    has_profiler = os.access(environments.xprof_python, os.X_OK)
    return environments.xprof_python if has_profiler else environments.tensorboard_python


PLUGIN = Plugin(load)
