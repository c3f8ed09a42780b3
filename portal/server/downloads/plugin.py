"""Sites that allow no downloads: routes that refuse, and menus without their entries."""

from functools import partial

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError

from portal.server.base.authorization import for_the_user
from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.hidden_plugins import hide_plugins

# Their entries in the menus of JupyterLab and Notebook, and "Save and Export Notebook As".
_PLUGINS = (
    "@jupyterlab/docmanager-extension:download",
    "@jupyterlab/filebrowser-extension:download",
    "@jupyterlab/notebook-extension:export",
)


class RefusedDownload(JupyterHandler):
    """A route that sends files."""

    auth_resource = "contents"

    @for_the_user
    async def get(self) -> None:
        """Refuse: 403."""
        raise HTTPError(403, "This site offers no downloads. Ask its administrators.")

    head = post = get


# Before Jupyter's own and the portal's; the first that fits answers.
_ROUTES = [
    (route, RefusedDownload)
    for route in (r"/files/.*", r"/nbconvert/.*", r"/portal/api/archive", r"/portal/api/s3/files.*")
]


def load(shared: Shared) -> Feature:
    """Refuse downloads."""
    return Feature(routes=_ROUTES, start=partial(hide_plugins, shared.server.web_app, _PLUGINS))


PLUGIN = Plugin(load, is_on=lambda settings: not settings.files.downloads)
