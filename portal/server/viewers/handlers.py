"""REST API `portal/api/tensorboards`, and `portal/api/mlflow`, which is the same."""

from functools import partial
from typing import Any

from tornado.web import HTTPError, RequestHandler

from portal.server.base.rest import Answer, Route, local_route, read_body, route
from portal.server.viewers.folder import parse_request
from portal.server.viewers.pages import FolderPages
from portal.server.viewers.proxy import PageProxy


def page_routes(pages: FolderPages, proxy: type[PageProxy] = PageProxy) -> list[Route]:
    """Return the routes of a viewer's list and of its pages."""
    name, title = pages.viewer.route.rpartition("/")[2], pages.viewer.title

    def list_running(_: RequestHandler) -> list[Any]:
        # A tab that lists them may open one soon.
        pages.start_next()
        return [page.as_json() for page in pages.running()]

    async def stop(_: RequestHandler, page_id: str) -> None:
        if not await pages.stop(page_id):
            raise HTTPError(404, f"This {title} has ended already. Nothing was stopped.")

    offered = partial(route, resource="tensorboards")
    return [
        offered(rf"/portal/api/{name}", get=list_running, post=partial(_open, pages)),
        offered(rf"/portal/api/{name}/([^/]+)", delete=stop),
        (rf"/{pages.viewer.route}/([^/]+)(/.*)?", proxy, {"pages": pages}),
    ]


def local_page_route(pages: FolderPages) -> Route:
    """Return the same for programs that ask on the local socket, such as cells."""
    return local_route(r"/tensorboards", post=partial(_open, pages))


async def _open(pages: FolderPages, request: RequestHandler) -> Answer:
    page = await pages.open(parse_request(read_body(request), pages.viewer))
    request.set_header("Location", f"{page.path_prefix}/")
    return Answer(201, page.as_json())
