"""Forwards requests of the browser to MLflow, which knows nothing of its path."""

from __future__ import annotations

import httpcore

from portal.server.tensorboard.instance import TensorBoard
from portal.server.tensorboard.proxy import PageProxy

# A file of a run may be a page whose scripts would act in the user's name.
_AS_A_STRANGER = "sandbox allow-scripts"


class MlflowProxy(PageProxy):
    """Forwards requests for MLflow's pages, whose links are relative, to its unix socket."""

    def target(self, board: TensorBoard) -> str:
        """Return the path and query without the path of the page."""
        return self.harmless_uri().removeprefix(board.path_prefix)

    async def pass_back(self, response: httpcore.Response) -> None:
        """Stream MLflow's response; a file of a run is a page of another site to the browser."""
        if "artifact" in self.request.path:
            self.not_passed_back = self.not_passed_back | {"content-security-policy"}
            self.set_header("Content-Security-Policy", _AS_A_STRANGER)
        await super().pass_back(response)
