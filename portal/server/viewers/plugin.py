"""Viewers of folders: TensorBoard and MLflow."""

from __future__ import annotations

import asyncio
import os

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.viewers.handlers import LocalPagesHandler, page_routes
from portal.server.viewers.mlflow.pages import MlflowPages
from portal.server.viewers.mlflow.proxy import MlflowProxy
from portal.server.viewers.mlflow.tracking import has_mlflow, offer_mlflow
from portal.server.viewers.tensorboard.pages import TensorBoards


def load(shared: Shared) -> Feature:
    """Offer both, and let cells log to MLflow and open a TensorBoard."""
    settings, server = shared.settings, shared.server
    offer_mlflow(os.environ, settings)
    where = {"root_dir": server.root_dir, "base_url": server.base_url}
    tensorboards = TensorBoards(parent=shared.extension, **where)
    mlflow = MlflowPages(parent=shared.extension, **where)

    shared.folders_shown += [tensorboards.folders_shown, mlflow.folders_shown]

    async def stop() -> None:
        await asyncio.gather(tensorboards.stop_all(), mlflow.stop_all())

    return Feature(
        routes=[*page_routes(tensorboards), *page_routes(mlflow, MlflowProxy)],
        local_routes=[(r"/tensorboards", LocalPagesHandler, {"pages": tensorboards})],
        page_data={"portalMlflow": "yes" if has_mlflow(settings) else ""},
        stop=stop,
    )


PLUGIN = Plugin(load)
