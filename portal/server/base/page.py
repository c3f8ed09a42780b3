"""Pages of a session that features bring along, each with its scripts and styles beside it."""

import html
import os
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler

from portal.server.base.authorization import RouteArguments, for_the_user
from spawner.session_settings import EXTENSIONS, told_tables

# Of all features; their names do not clash, and all are served below static/portal.
FOLDERS = sorted(Path(__file__).parents[1].glob("*/pages"))


class Page(RouteArguments, JupyterHandler):
    """A page that shows the same in a tab of JupyterLab, of Notebook and of the browser.

    Attributes:
        file: The page as HTML, in which {base_url}, {gpus} and {guides_url} are filled in.
        auth_resource: What a user needs the right to read.
    """

    file: Path

    @for_the_user
    async def get(self) -> None:
        """Render it."""
        # Reading the token sets its cookie, which the page's script sends back.
        _ = self.xsrf_token
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(filled(self.file.read_text(encoding="utf-8"), self.base_url))


def filled(page: str, base_url: str) -> str:
    """Return a page with what it names in braces; without a guide also without lines about it."""
    guides = guides_url()
    if not guides:
        page = "".join(line for line in page.splitlines(True) if "{guides_url}" not in line)
    is_simulated = os.environ.get("PORTAL_GPUS_SIMULATED") == "1"
    page = page.replace("{gpus}", "simulated GPUs" if is_simulated else "GPUs")
    page = page.replace("{guides_url}", html.escape(guides))
    return page.replace("{base_url}", html.escape(base_url))


def guides_url() -> str:
    """Return where the hub shows the guide; empty for a hub of a site's own, which does not."""
    # Only the portal's own hub tells which extensions run.
    if EXTENSIONS not in told_tables(os.environ):
        return ""
    host = os.environ.get("JUPYTERHUB_HOST", "")
    return f"{host}{os.environ.get('JUPYTERHUB_BASE_URL', '/')}hub/help/"
