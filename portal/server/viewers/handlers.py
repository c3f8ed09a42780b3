"""REST API `portal/api/tensorboards`, and `portal/api/mlflow`, which is the same."""

import json
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError, RequestHandler

from dsportal.slurm.errors import OptionsError
from portal.server.base.authorization import RouteArguments, for_the_user, telling_errors
from portal.server.viewers.folder import parse_request
from portal.server.viewers.pages import FolderPages
from portal.server.viewers.proxy import PageProxy
from portal.server.viewers.viewer import Viewer


class PagesHandler(RouteArguments, APIHandler):
    """The pages of one viewer in the session."""

    auth_resource = "tensorboards"
    pages: FolderPages

    @for_the_user
    async def get(self) -> None:
        """List those that run, oldest first."""
        # A tab that lists them may open one soon.
        self.pages.start_next()
        self.finish(json.dumps([page.as_json() for page in self.pages.running()]))

    @for_the_user
    async def post(self) -> None:
        """Start one, or return the one that already shows these folders.

        Source:
            `{"logdir": "path/from/root"}` or `{"logdirs": [...]}`; 201 and what
            `FolderPage.as_json` returns, or an error's status and `{"message": sentence}`.
        """
        await open_page(self, self.pages)


async def open_page(handler: RequestHandler, pages: FolderPages) -> None:
    """Answer a POST with a page."""
    page = await pages.open(parse_request(_body(handler, pages.viewer), pages.viewer))
    handler.set_status(201)
    handler.set_header("Location", f"{page.path_prefix}/")
    handler.finish(json.dumps(page.as_json()))


def _body(handler: RequestHandler, viewer: Viewer) -> Any:
    try:
        return json.loads(handler.request.body)
    except ValueError:
        raise OptionsError(
            f'{viewer.title} was asked for with a text that is not JSON. Post {{"logdir": "path"}}.'
        ) from None


class PageHandler(RouteArguments, APIHandler):
    """One of them."""

    auth_resource = "tensorboards"
    pages: FolderPages

    @for_the_user
    async def delete(self, page_id: str) -> None:
        """Stop it: 204.

        Raises:
            HTTPError: 404 if there is none with this id.
        """
        if not await self.pages.stop(page_id):
            title = self.pages.viewer.title
            raise HTTPError(404, f"This {title} has ended already. Nothing was stopped.")
        self.set_status(204)
        self.finish()


class LocalPagesHandler(RouteArguments, RequestHandler):
    """The same for programs that ask on the local socket, such as cells."""

    pages: FolderPages

    # No login: only the user can open the socket.
    @telling_errors
    async def post(self) -> None:
        """Start one, as the REST interface does."""
        await open_page(self, self.pages)


def page_routes(pages: FolderPages, proxy: type[PageProxy] = PageProxy) -> list[Any]:
    """Return the routes of a viewer's list and of its pages."""
    shared, name = {"pages": pages}, pages.viewer.route.rpartition("/")[2]
    return [
        (rf"/portal/api/{name}", PagesHandler, shared),
        (rf"/portal/api/{name}/([^/]+)", PageHandler, shared),
        (rf"/{pages.viewer.route}/([^/]+)(/.*)?", proxy, shared),
    ]
