"""Refuses downloads where the site does not offer them."""

from __future__ import annotations

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError

from portal.server.base.authorization import for_the_user

# Their entries in the menus of JupyterLab and Notebook, and "Save and Export Notebook As".
PLUGINS = (
    "@jupyterlab/docmanager-extension:download",
    "@jupyterlab/filebrowser-extension:download",
    "@jupyterlab/notebook-extension:export",
)


class RefusedDownload(JupyterHandler):
    """A route that sends files."""

    auth_resource = "contents"

    @for_the_user
    async def get(self) -> None:
        """Refuse: 403.

        Raises:
            HTTPError: Always.
        """
        raise HTTPError(403, "This site offers no downloads. Ask its administrators.")

    head = post = get


# Before Jupyter's own and the portal's; the first that fits answers.
ROUTES = [
    (route, RefusedDownload)
    for route in (r"/files/.*", r"/nbconvert/.*", r"/portal/api/archive", r"/portal/api/s3/files.*")
]
