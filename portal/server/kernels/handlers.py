"""REST API `portal/api/environments`: which kernels are offered, and why the others are not."""

from __future__ import annotations

import asyncio

from jupyter_server.base.handlers import APIHandler

from portal.server.authorization import for_the_user
from portal.server.kernels.kernels import Kernels


class EnvironmentsHandler(APIHandler):
    """The environments of the site and of the user."""

    auth_resource = "kernelspecs"

    def initialize(self, kernels: Kernels) -> None:
        """Store the arguments of the route."""
        self.kernels = kernels

    @for_the_user
    async def get(self) -> None:
        """List all of them, including those with a problem."""
        self.finish(self.kernels.as_json())

    @for_the_user
    async def post(self) -> None:
        """Read the registry again, try each environment, and list all of them."""
        try:
            await asyncio.to_thread(self.kernels.refresh)
        except OSError as error:
            # 507 Insufficient Storage.
            self.set_status(507)
            self.finish({"message": f"The kernels cannot be described ({error}). Make room."})
            return
        self.finish(self.kernels.as_json())
