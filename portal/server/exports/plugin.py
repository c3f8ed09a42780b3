"""Notebooks as PDF, HTML and other formats that this node can make."""

import asyncio
from typing import Any

from jupyter_server.base.handlers import APIHandler, path_regex
from jupyter_server.nbconvert.handlers import NbconvertFileHandler, NbconvertPostHandler
from tornado.web import HTTPError

from portal.server.base.authorization import for_the_user
from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.rest import route
from portal.server.exports.errors import ExportError


async def _list_formats(_: APIHandler) -> dict[str, Any]:
    # nbconvert takes a while to load, and most sessions export nothing.
    from portal.server.exports.formats import offered

    found = await asyncio.to_thread(offered)
    return {name: {"output_mimetype": kind} for name, kind in found.items()}


class ExportHandler(NbconvertFileHandler):
    """A notebook of the user's as another format."""

    @for_the_user
    async def get(self, format: str, path: str) -> None:
        """Send it; 404 with the reason if it cannot be made here."""
        await super().get(await _exporter(format), path)


class ContentExportHandler(NbconvertPostHandler):
    """A notebook that is sent as another format."""

    @for_the_user
    async def post(self, format: str) -> None:
        """Send it back; 404 with the reason if it cannot be made here."""
        await super().post(await _exporter(format))


async def _exporter(name: str) -> str:
    from portal.server.exports.formats import exporter_name

    try:
        return await asyncio.to_thread(exporter_name, name)
    except ExportError as error:
        raise HTTPError(404, error.message) from error


def load(shared: Shared) -> Feature:
    """Answer in the place of Jupyter's own routes."""
    del shared
    return Feature(
        routes=[
            route(r"/api/nbconvert", "nbconvert", get=_list_formats),
            (r"/nbconvert/(?P<format>\w+)", ContentExportHandler),
            (rf"/nbconvert/(?P<format>\w+){path_regex}", ExportHandler),
        ]
    )


PLUGIN = Plugin(load)
