"""Remembers what cells show after their tab is gone."""

import json
from contextlib import suppress
from typing import Any

from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1

from portal.server.base.kernel_listener import KernelListener, Published
from portal.server.kernels.execution import Execution
from portal.server.kernels.executions import Executions
from portal.server.kernels.page_output import shortened

PROTOCOL = "v1.kernel.websocket.jupyter.org"


class ExecutionWatch:
    """Remembers the running cells of all kernels of a notebook server."""

    def __init__(self, listener: KernelListener) -> None:
        self._executions: dict[str, Executions] = {}
        listener.on_message(self._hear)
        listener.on_death(lambda death: self.executions(death.kernel_id).end_all())

    def _hear(self, message: Published) -> None:
        executions = self._executions.get(message.kernel_id)
        # Without a tab there are no cells.
        if executions is not None:
            executions.publish(message.parent_id, message.kind, message.content, message.metadata)

    def executions(self, kernel_id: str) -> Executions:
        """Return those of a kernel; none if no tab was ever connected to it."""
        return self._executions.get(kernel_id) or Executions()

    def all_executions(self) -> dict[str, Executions]:
        """Return those of every kernel that a tab was ever connected to, by the kernel's id."""
        return dict(self._executions)

    def watch(self, kernel_id: str) -> Executions:
        """Remember the cells of a kernel from now on, and return them."""
        return self._executions.setdefault(kernel_id, Executions())

    def drop_ended(self, running: set[str]) -> None:
        """Forget kernels that are not among those that still run."""
        for kernel_id in self._executions.keys() - running:
            del self._executions[kernel_id]

    def watch_tabs(self, settings: dict[str, Any]) -> None:
        """Hear from now on which tab sends which cell.

        Args:
            settings: Those of the notebook server's web application.
        """
        name, watch = "kernel_websocket_connection_class", self
        base: type[Any] = shortened(settings[name])

        class WatchedConnection(base):
            """Tells which tab sent which cell."""

            _tab = ""

            async def prepare(self) -> None:
                """Watch the kernel before the tab can send a cell."""
                await super().prepare()
                watch.drop_ended(set(self.multi_kernel_manager.list_kernel_ids()))
                if not self._tab:
                    self._tab = self.session.session
                    watch.watch(self.kernel_id).open_tab(self._tab)

            def disconnect(self) -> None:
                """Note that the tab is gone; Jupyter may call this twice."""
                if self._tab:
                    watch.executions(self.kernel_id).close_tab(self._tab)
                    self._tab = ""
                super().disconnect()

            def handle_incoming_message(self, incoming_msg: Any) -> None:
                """Note a cell, then pass it on."""
                if self._tab:
                    watch.note_request(self.kernel_id, self._tab, incoming_msg, self.subprotocol)
                super().handle_incoming_message(incoming_msg)

        settings[name] = WatchedConnection

    def note_request(self, kernel_id: str, tab: str, text: Any, subprotocol: str | None) -> None:
        """Note the cell that a message of a tab sends, if it sends one.

        Args:
            text: The message as it came over the websocket.
        """
        # The kernel and Jupyter say what is wrong with a message; this only listens.
        with suppress(ValueError, KeyError, TypeError, AttributeError, IndexError):
            execution = _execution_of(text, tab, is_v1=subprotocol == PROTOCOL)
            if execution is not None:
                self.executions(kernel_id).send(execution)


def _execution_of(text: Any, tab: str, *, is_v1: bool) -> Execution | None:
    if is_v1:
        _, parts = deserialize_msg_from_ws_v1(text)
        header = json.loads(parts[0])
    else:
        message = json.loads(text)
        header = message["header"]
    # Looked at first: other messages may be large.
    if header["msg_type"] != "execute_request":
        return None
    if is_v1:
        metadata, content = json.loads(parts[2]), json.loads(parts[3])
    else:
        metadata, content = message["metadata"], message["content"]
    # Consoles name no cell.
    if not isinstance(metadata.get("cellId"), str):
        return None
    return Execution(id=header["msg_id"], tab=tab, cell_id=metadata["cellId"], code=content["code"])
