"""Cells of kernels that the notebook server did not start, such as those of VS Code.

They tell while a cell runs, on the unix socket that only the user can open: see
`dsportal.start.kernel_start`.
"""

import asyncio

from tornado.web import RequestHandler

ROUTE = r"/session/cell"


class CellHandler(RequestHandler):
    """One of them: it runs for as long as its kernel keeps the request open."""

    def initialize(self, running: set[RequestHandler]) -> None:
        """Store the argument of the route."""
        self.running = running
        self.ended = asyncio.Event()

    def on_connection_close(self) -> None:
        """Note that the kernel has hung up."""
        self.ended.set()

    # No login: only the user can open the socket.
    async def get(self) -> None:
        """Wait for the end of the cell; there is no answer."""
        self.running.add(self)
        try:
            await self.ended.wait()
        finally:
            self.running.discard(self)
