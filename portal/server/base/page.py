"""Pages of a session that features bring along, each with its scripts and styles beside it."""

from __future__ import annotations

import html
import os
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler

from portal.server.base.authorization import RouteArguments, for_the_user

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
        page = self.file.read_text(encoding="utf-8")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        is_simulated = os.environ.get("PORTAL_GPUS_SIMULATED") == "1"
        page = page.replace("{gpus}", "simulated GPUs" if is_simulated else "GPUs")
        page = page.replace("{guides_url}", html.escape(_guides_url()))
        self.finish(page.replace("{base_url}", html.escape(self.base_url)))


def _guides_url() -> str:
    host = os.environ.get("JUPYTERHUB_HOST", "")
    return f"{host}{os.environ.get('JUPYTERHUB_BASE_URL', '/')}hub/help/"
