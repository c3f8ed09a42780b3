"""ssh into a session, over its own address."""

import asyncio
import os

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.ssh.connections import SshConnections
from portal.server.ssh.handlers import ROUTE, SshSocket
from portal.server.ssh.terminal_warnings import warn_terminals


def load(shared: Shared) -> Feature:
    """Take connections, and warn in their terminals."""
    settings = shared.settings
    connections = SshConnections(
        limit=settings.ssh.limit,
        forwards_ports=settings.ssh.forwards_ports,
        environ=os.environ,
        log=shared.log,
    )
    warnings: list[asyncio.Task[None]] = []

    def start() -> None:
        warning = warn_terminals(connections, shared.session)
        warnings.append(asyncio.get_running_loop().create_task(warning))

    async def stop() -> None:
        for task in warnings:
            task.cancel()
        await asyncio.gather(*warnings, return_exceptions=True)
        await connections.stop()

    return Feature(
        routes=[(ROUTE, SshSocket, {"connections": connections, "session": shared.session})],
        # Where ssh is offered, the Help menu says how.
        page_data={"portalSsh": "yes" if settings.ssh.limit else ""},
        start=start,
        stop=stop,
    )


PLUGIN = Plugin(load)
