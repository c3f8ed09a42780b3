"""The pages of jobs and of runs, the same for JupyterLab and Notebook."""

from __future__ import annotations

import html
import os
from importlib.resources import files

from jupyter_server.base.handlers import JupyterHandler

from portal.server.base.authorization import for_the_user

PAGES_DIR = files("portal.server") / "pages"


class JobsPage(JupyterHandler):
    """The page of the user's Slurm jobs."""

    auth_resource = "jobs"
    file_name = "jobs.html"

    @for_the_user
    async def get(self) -> None:
        """Render it."""
        # Reading the token sets its cookie, which the page's script sends back.
        _ = self.xsrf_token
        page = (PAGES_DIR / self.file_name).read_text(encoding="utf-8")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        is_simulated = os.environ.get("PORTAL_GPUS_SIMULATED") == "1"
        page = page.replace("{gpus}", "simulated GPUs" if is_simulated else "GPUs")
        self.finish(page.replace("{base_url}", html.escape(self.base_url)))


class RunsPage(JobsPage):
    """The page of the user's runs."""

    file_name = "runs.html"
