"""REST API `portal/api/tensorboards`."""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import RequestHandler

from portal.server.authorization import for_the_user
from portal.server.errors import LogdirError
from portal.server.tensorboard.instances import TensorBoards
from portal.server.tensorboard.logdir import parse_request
from portal.server.tensorboard.proxy import TensorBoardProxy
from portal.server.tensorboard.script import ROUTE, TensorBoardScriptHandler
from spawner.errors import PortalError


class TensorBoardsHandler(APIHandler):
    """The TensorBoards of the session."""

    auth_resource = "tensorboards"

    def initialize(self, tensorboards: TensorBoards) -> None:
        """Store the arguments of the route."""
        self.tensorboards = tensorboards

    @for_the_user
    async def get(self) -> None:
        """List those that run, oldest first."""
        # Whoever lists TensorBoards may open one soon.
        self.tensorboards.keep_spare()
        self.finish(json.dumps([board.as_json() for board in self.tensorboards.running()]))

    @for_the_user
    async def post(self) -> None:
        """Start one, or return the one that already shows these folders.

        Source:
            `{"logdir": "path/from/root"}` or `{"logdirs": [...]}`; 201 and the TensorBoard, or an
            error's status and `{"message": sentence}`.
        """
        await open_tensorboard(self, self.tensorboards)


async def open_tensorboard(handler: RequestHandler, tensorboards: TensorBoards) -> None:
    """Answer a POST with a TensorBoard, or with the error that prevented it."""
    try:
        board = await tensorboards.open(parse_request(_body(handler)))
    except PortalError as error:
        tensorboards.log.warning("%s", error)
        handler.set_status(error.http_status)
        handler.finish({"message": error.message})
        return
    handler.set_status(201)
    handler.set_header("Location", f"{board.path_prefix}/")
    handler.finish(json.dumps(board.as_json()))


def _body(handler: RequestHandler) -> Any:
    try:
        return json.loads(handler.request.body)
    except ValueError:
        raise LogdirError(
            'TensorBoard was asked for with a text that is not JSON. Post {"logdir": "path"}.'
        ) from None


class TensorBoardHandler(APIHandler):
    """One TensorBoard of the session."""

    auth_resource = "tensorboards"

    def initialize(self, tensorboards: TensorBoards) -> None:
        """Store the arguments of the route."""
        self.tensorboards = tensorboards

    @for_the_user
    async def delete(self, board_id: str) -> None:
        """Stop it: 204, or 404 if there is none with this id."""
        if await self.tensorboards.stop(board_id):
            self.set_status(204)
            self.finish()
            return
        self.set_status(404)
        self.finish({"message": "This TensorBoard has ended already. Nothing was stopped."})


def tensorboard_routes(tensorboards: TensorBoards) -> list[Any]:
    """Return the routes of TensorBoards, of their pages and of the script that these share."""
    shared = {"tensorboards": tensorboards}
    return [
        (r"/portal/api/tensorboards", TensorBoardsHandler, shared),
        (r"/portal/api/tensorboards/([^/]+)", TensorBoardHandler, shared),
        (rf"/{ROUTE}", TensorBoardScriptHandler, {"script": tensorboards.script}),
        (r"/portal/tensorboards/([^/]+)(/.*)?", TensorBoardProxy, shared),
    ]
