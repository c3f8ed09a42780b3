"""ssh into a session, over its own address."""

import os

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.ssh.connections import SshConnections
from portal.server.ssh.handlers import ROUTE, SshSocket
from portal.server.ssh.terminal_warnings import terminal_warnings


def load(shared: Shared) -> Feature:
    """Take connections, and warn in their terminals."""
    settings = shared.settings
    connections = SshConnections(settings.ssh, os.environ, shared.log)
    warnings = terminal_warnings(connections, shared.session)

    async def stop() -> None:
        await warnings.stop()
        await connections.stop()

    return Feature(
        routes=[(ROUTE, SshSocket, {"connections": connections, "session": shared.session})],
        # Where ssh is offered, the Help menu says how.
        page_data={"portalSsh": "yes" if settings.ssh.limit else ""},
        start=warnings.start,
        stop=stop,
    )


PLUGIN = Plugin(load)
