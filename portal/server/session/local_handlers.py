"""The session for the user's own programs, on the unix socket that only the user can open.

VS Code shows the time left there, and tells when somebody uses it. Kernels that the notebook server
did not start, such as those of VS Code, tell while a cell runs: see `dsportal.start.kernel_start`.
"""

import asyncio
from collections.abc import Callable

from tornado.web import RequestHandler

from portal.server.base.authorization import telling_errors
from portal.server.session.handlers import parse_age
from portal.server.session.monitor import SessionMonitor


class _LocalHandler(RequestHandler):
    """Base of these handlers.

    Args:
        page: Path of the session's page.
        note_use: Records use of the session for the hub, which stops unused ones.
    """

    # No login: only the user can open the socket.
    def initialize(self, session: SessionMonitor, page: str, note_use: Callable[[], None]) -> None:
        self.session = session
        self.page = page
        self.note_use = note_use


class LocalSessionHandler(_LocalHandler):
    """The session's current state."""

    async def get(self) -> None:
        """Describe it; `input_age_s` is the seconds since somebody typed or clicked."""
        age_s = parse_age(self.get_query_argument("input_age_s", ""))
        if age_s is not None:
            self.session.note_input(age_s)
            self.note_use()
        self.finish({**await self.session.describe(), "page": self.page})

    @telling_errors
    async def delete(self) -> None:
        """End the session: 202."""
        await self.session.give_back()
        self.set_status(202)


class LocalExtensionHandler(_LocalHandler):
    """Extensions of the session."""

    @telling_errors
    async def post(self) -> None:
        """Extend the session: 200 and the time left, or an error's status and sentence."""
        self.finish((await self.session.clock.extend()).as_json())


class LocalKeepHandler(_LocalHandler):
    """The user's answer to the idle warning."""

    async def post(self) -> None:
        """Keep the session: 204."""
        self.session.keep()
        self.note_use()
        self.set_status(204)


LOCAL_ROUTES = (
    (r"/session", LocalSessionHandler),
    (r"/session/extension", LocalExtensionHandler),
    (r"/session/keep", LocalKeepHandler),
)


CELL_ROUTE = r"/session/cell"


class CellsElsewhere:
    """How many run."""

    def __init__(self) -> None:
        self.n_running = 0


class CellHandler(RequestHandler):
    """One of them: it runs for as long as its kernel keeps the request open."""

    def initialize(self, cells: CellsElsewhere) -> None:
        """Store the arguments of the route."""
        self.cells = cells
        self.ended = asyncio.Event()

    def on_connection_close(self) -> None:
        """Note that the kernel has hung up."""
        self.ended.set()

    # No login: only the user can open the socket.
    async def get(self) -> None:
        """Wait for the end of the cell; there is no answer."""
        self.cells.n_running += 1
        try:
            await self.ended.wait()
        finally:
            self.cells.n_running -= 1
