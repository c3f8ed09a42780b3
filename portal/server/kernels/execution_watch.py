"""Listens to each kernel beside the tabs, and remembers what cells show after their tab is gone."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import Any

from jupyter_client.session import Session
from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection

from portal.server.kernels.executions import Execution, Executions

PROTOCOL = "v1.kernel.websocket.jupyter.org"


class ExecutionWatch:
    """Remembers the running cells of all kernels of a notebook server."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._kernels: dict[str, tuple[Executions, Any]] = {}

    def executions(self, kernel_id: str) -> Executions:
        """Return those of a kernel; none if no tab was ever connected to it."""
        found = self._kernels.get(kernel_id)
        return Executions() if found is None else found[0]

    def all_executions(self) -> dict[str, Executions]:
        """Return those of every kernel that a tab was ever connected to, by the kernel's id."""
        return {kernel_id: executions for kernel_id, (executions, _) in self._kernels.items()}

    def watch(self, kernel_id: str, kernel: Any) -> Executions:
        """Listen to a kernel from now on, and return its executions."""
        if kernel_id in self._kernels:
            return self._kernels[kernel_id][0]
        executions = Executions()
        session = Session(config=kernel.session.config, key=kernel.session.key)
        stream = kernel.connect_iopub()

        def take(parts: list[Any]) -> None:
            try:
                _, fed = session.feed_identities(parts)
                message = session.deserialize(fed)
            except ValueError as error:
                self._log.warning("A message of kernel %s cannot be read: %s", kernel_id, error)
                return
            parent_id = message["parent_header"].get("msg_id", "")
            kind, content = message["header"]["msg_type"], message["content"]
            executions.publish(parent_id, kind, content, message["metadata"])

        stream.on_recv(take)
        self._kernels[kernel_id] = executions, stream
        return executions

    def drop_ended(self, running: set[str]) -> None:
        """Forget kernels that are not among those that still run."""
        for kernel_id in set(self._kernels) - running:
            _, stream = self._kernels.pop(kernel_id)
            stream.on_recv(None)
            stream.close()

    def connection_class(self, base: type[ZMQChannelsWebsocketConnection]) -> type[Any]:
        """Return the class of connections between tabs and kernels that tells this watch."""
        watch = self

        class WatchedConnection(base):
            """Tells which tab sent which cell."""

            _tab = ""

            async def prepare(self) -> None:
                """Watch the kernel before the tab can send a cell."""
                await super().prepare()
                watch.drop_ended(set(self.multi_kernel_manager.list_kernel_ids()))
                if not self._tab:
                    self._tab = self.session.session
                    executions = watch.watch(self.kernel_id, self.kernel_manager)
                    executions.open_tab(self._tab)

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

        return WatchedConnection

    def note_request(self, kernel_id: str, tab: str, text: Any, subprotocol: str | None) -> None:
        """Note the cell that a message of a tab sends, if it sends one.

        Args:
            kernel_id: The kernel that it goes to.
            tab: What tells the tab from others.
            text: The message as it came over the websocket.
            subprotocol: The websocket's protocol.
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
