"""Answers in JSON, as all routes below portal/api do, where there is no such route."""

from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError

from portal.server.base.authorization import for_the_user


class UnknownRouteHandler(APIHandler):
    """A route that does not exist, or that this site does not offer."""

    auth_resource = "server"

    @for_the_user
    async def get(self) -> None:
        """Refuse: 404."""
        raise HTTPError(404, f"There is nothing at {self.request.path} in this session.")

    post = put = patch = delete = get


# The last of all routes.
ROUTE = (r"/portal/api/.*", UnknownRouteHandler)
