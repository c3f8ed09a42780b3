"""The way of an ssh connection into the session: a WebSocket that carries its bytes.

The client says `{"public_key": "..."}`; the answer is `{"host_key": "..."}`, or the end after
`{"message": "..."}`. Everything after that is ssh, as binary messages.
"""

import asyncio
import json
import os
import time
from datetime import UTC, datetime
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from dsportal.slurm.errors import PortalError
from portal.server.base.feature import SessionState
from portal.server.base.forwarding import forwarded_addresses
from portal.server.ssh.connections import SshConnection, SshConnections
from portal.server.ssh.sshd import SshError

ROUTE = r"/portal/ssh"


class SshSocket(WebSocketMixin, WebSocketHandler, JupyterHandler):
    """One connection."""

    auth_resource = "ssh"

    def initialize(self, connections: SshConnections, session: SessionState) -> None:
        """Store the arguments of the route."""
        self.connections = connections
        self.session = session
        self.connection: SshConnection | None = None
        self._pump: asyncio.Task[None] | None = None

    async def get(self) -> None:
        """Accept the WebSocket of the owner's own program, and of nobody else."""
        if refusal := await self._refusal():
            self.set_status(403)
            self.finish({"message": refusal})
            return
        await super().get()

    async def _refusal(self) -> str:
        user = self.current_user
        owner = os.environ.get("JUPYTERHUB_USER", "")
        # A page cannot send this header with a WebSocket, and neither a cookie nor a token in the
        # address suffices. The header alone says nothing: JupyterHub takes the cookie if it does
        # not know the token.
        has_token = self.identity_provider.is_token_authenticated(self)
        if user is None or not has_token or "Authorization" not in self.request.headers:
            return "A connection over ssh needs a token. Make one on the portal's page 'Tokens'."
        if owner and user.username != owner:
            return "This session belongs to somebody else. Only its owner may connect over ssh."
        if not await ensure_async(
            self.authorizer.is_authorized(self, user, "execute", self.auth_resource)
        ):
            return "This token may not open the session. Make one that may use your sessions."
        return ""

    async def on_message(self, message: str | bytes) -> None:
        """Take what the laptop sends; the next message waits until sshd has read this one."""
        if self.connection is None:
            await self._begin(message)
        elif isinstance(message, bytes) and await self.connection.write(message):
            self.session.note_input(0)
            # For the service that stops sessions without activity from outside.
            self.settings["ssh_last_activity"] = datetime.now(UTC)

    def on_close(self) -> None:
        """End sshd with the connection."""
        if self.connection is not None and self._pump is not None:
            self.log.info("ssh from %s ended", forwarded_addresses(self.request))
            self._pump.cancel()

    async def _begin(self, message: str | bytes) -> None:
        try:
            left_s = await self.session.left_s()
            ends_s = None if left_s is None else time.time() + left_s
            key = _public_key(message)
            connection = await self.connections.open(key, ends_s)
        except PortalError as error:
            self.log.warning("ssh is refused: %s", error)
            await self._tell({"message": error.message})
            self.close()
            return
        self.connection = connection
        # Before the first bytes of sshd, which begins to speak by itself.
        await self._tell({"host_key": self.connections.host_key})
        self.log.info(
            "ssh from %s: %d connections now",
            forwarded_addresses(self.request),
            len(self.connections),
        )
        self._pump = asyncio.create_task(self._copy(connection))

    async def _copy(self, connection: SshConnection) -> None:
        try:
            while data := await connection.read():
                await self.write_message(data, binary=True)
        except WebSocketClosedError:
            pass
        finally:
            self.close()
            await self.connections.close(connection)

    async def _tell(self, said: dict[str, Any]) -> None:
        try:
            await self.write_message(json.dumps(said))
        except WebSocketClosedError:
            return


def _public_key(message: str | bytes) -> Any:
    try:
        return json.loads(message)["public_key"]
    except (ValueError, KeyError, TypeError) as error:
        raise SshError(
            "The first message was no request for a connection. Load dsportal.pyz again from the "
            "portal's help page about ssh."
        ) from error
