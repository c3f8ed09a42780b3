"""Listens to each kernel of the session once, for all parts that follow what kernels do."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from jupyter_client.ioloop import AsyncIOLoopKernelRestarter
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.session import Session
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from traitlets.config import Config

from portal.server.patches.kernel_manager import follow_kernels


@dataclass(frozen=True, kw_only=True)
class Published:
    """A message that a kernel published.

    Attributes:
        kind: Its type, such as "stream".
        parent_id: Id of the message that it answers; empty for none.
        parent_kind: Type of that message; empty for none.
        unpack: Reads the content; ValueError if it cannot be read.
    """

    kernel_id: str
    kind: str
    parent_id: str
    parent_kind: str
    metadata: dict[str, Any]
    unpack: Callable[[], dict[str, Any]]

    @cached_property
    def content(self) -> dict[str, Any]:
        """The content; read when it is first asked for, since outputs may be long.

        Raises:
            ValueError: If it cannot be read.
        """
        return self.unpack()


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """The end of a kernel's process that nobody asked for.

    Attributes:
        kernel_id: Its id, which stays the same when it is restarted.
        status: Exit status, negative for a signal; None if not known.
        is_out_of_memory: Of one in a job of its own, whether the job's memory was full; None for
            one of the session.
    """

    kernel_id: str
    status: int | None
    is_restarted: bool
    is_out_of_memory: bool | None = None


class KernelListener:
    """Tells what the kernels that a kernel manager starts publish, and that they ended or died."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._streams: dict[str, Any] = {}
        self._on_message: list[Callable[[Published], None]] = []
        self._on_end: list[Callable[[str], None]] = []
        self._on_death: list[Callable[[Death], None]] = []

    def on_message(self, take: Callable[[Published], None]) -> None:
        """Have every message that kernels publish taken from now on."""
        self._on_message.append(take)

    def on_end(self, take: Callable[[str], None]) -> None:
        """Have the ids of kernels taken that are shut down, or get other addresses."""
        self._on_end.append(take)

    def on_death(self, take: Callable[[Death], None]) -> None:
        """Have the deaths of kernels taken."""
        self._on_death.append(take)

    def watch(self, kernel_manager: AsyncMappingKernelManager) -> None:
        """Listen to all kernels that `kernel_manager` starts from now on."""
        follow_kernels(
            kernel_manager,
            on_start=lambda kernel_id: self._listen(
                kernel_id, kernel_manager.get_kernel(kernel_id)
            ),
            on_stop=self._close,
        )
        section = {"restarter_class": _restarter(self._tell_death)}
        kernel_manager.update_config(Config({"AsyncIOLoopKernelManager": section}))

    def take(self, kernel_id: str, session: Session, parts: list[Any]) -> None:
        """Read a message, in the `parts` in which it came, and tell it to all.

        Args:
            session: Has the kernel's key.
        """
        try:
            _, fed = session.feed_identities(parts)
            message = session.deserialize(fed, content=False)
            parent = message.get("parent_header") or {}
            published = Published(
                kernel_id=kernel_id,
                kind=message["header"]["msg_type"],
                parent_id=parent.get("msg_id", ""),
                parent_kind=parent.get("msg_type", ""),
                metadata=message["metadata"],
                unpack=partial(session.unpack, message["content"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            self._warn(kernel_id, error)
            return
        for take in self._on_message:
            try:
                take(published)
            except (ValueError, KeyError, TypeError) as error:
                self._warn(kernel_id, error)

    def _listen(self, kernel_id: str, kernel: AsyncKernelManager) -> None:
        self._close(kernel_id)
        session = Session(config=kernel.session.config, key=kernel.session.key)
        stream = kernel.connect_iopub()
        stream.on_recv(partial(self.take, kernel_id, session))
        self._streams[kernel_id] = stream

    def _close(self, kernel_id: str) -> None:
        for take in self._on_end:
            take(kernel_id)
        stream = self._streams.pop(kernel_id, None)
        if stream is not None and not stream.closed():
            stream.close()

    def _tell_death(self, death: Death) -> None:
        for take in self._on_death:
            take(death)

    def _warn(self, kernel_id: str, error: Exception) -> None:
        self._log.warning("A message of kernel %s cannot be read: %s", kernel_id, error)


def _restarter(tell: Callable[[Death], None]) -> type[AsyncIOLoopKernelRestarter]:
    class Restarter(AsyncIOLoopKernelRestarter):
        """Restarts a kernel that has died, and tells with which status it did."""

        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            self.add_callback(lambda: self._tell(is_restarted=True), "restart")
            self.add_callback(lambda: self._tell(is_restarted=False), "dead")

        def _tell(self, *, is_restarted: bool) -> None:
            kernel = self.kernel_manager
            # Only one on this node has a process; any other tells all of it itself.
            process = getattr(kernel.provisioner, "process", kernel.provisioner)
            tell(
                Death(
                    kernel_id=kernel.kernel_id,
                    status=getattr(process, "returncode", None),
                    is_restarted=is_restarted,
                    is_out_of_memory=getattr(process, "is_out_of_memory", None),
                )
            )

    return Restarter
