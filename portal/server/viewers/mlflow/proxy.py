"""Forwards requests of the browser to MLflow, which knows nothing of its path."""

import re

import httpcore

from portal.server.viewers.page import FolderPage
from portal.server.viewers.proxy import PageProxy

# A file of a run may be a page whose scripts would act in the user's name.
_AS_A_STRANGER = "sandbox allow-scripts"
# MLflow's own pages. Whatever else it answers may be a file of a run, and MLflow, which decodes
# paths, decides what is.
_OWN = re.compile(r"/(static-files/.*)?")


class MlflowProxy(PageProxy):
    """Forwards requests for MLflow's pages, whose links are relative, to its unix socket."""

    def target(self, page: FolderPage) -> str:
        """Return the path and query without the path of the page."""
        return self.harmless_uri().removeprefix(page.path_prefix)

    async def pass_back(self, response: httpcore.Response) -> None:
        """Stream MLflow's response; a file of a run is a page of another site to the browser."""
        if not _OWN.fullmatch(self.path_args[1]):
            self.not_passed_back = self.not_passed_back | {"content-security-policy"}
            self.set_header("Content-Security-Policy", _AS_A_STRANGER)
        await super().pass_back(response)
