"""Moves a running kernel of the notebook server to another place; its id stays.

Jupyter restarts the kernel: it ends the old one by the provisioner that it has, and starts the new
one by the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from jupyter_client.connect import port_names
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from portal.server.patches.kernel_tabs import forget_ports, reconnect_tabs

_LOOK_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """How kernels of this notebook server listen on its node.

    Attributes:
        address: That of the kernel's sockets, or of its ports.
    """

    transport: str
    address: str
    interrupt_mode: str

    @classmethod
    def of(cls, kernel: AsyncKernelManager) -> Home:
        """Return that of a kernel manager whose kernel is here."""
        return cls(
            transport=kernel.transport,
            address=kernel.ip,
            interrupt_mode=kernel.kernel_spec.interrupt_mode,
        )

    def prepare(self, kernel: AsyncKernelManager) -> None:
        """Let a kernel manager start its next kernel here."""
        # Else the file of the kernel elsewhere would stay.
        kernel.cleanup_connection_file()
        kernel.transport, kernel.ip = self.transport, self.address
        kernel.curve_publickey = kernel.curve_secretkey = None
        kernel.kernel_spec.interrupt_mode = self.interrupt_mode
        for name in port_names:
            setattr(kernel, name, 0)


class _Successor:
    """The provisioner of a kernel that ends, up to the start of the next one."""

    def __init__(
        self, old: KernelProvisionerBase, new: KernelProvisionerBase, home: Home | None
    ) -> None:
        self._old, self._new, self._home = old, new, home

    def __getattr__(self, name: str) -> Any:
        return getattr(self._old, name)

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        kernel = self._old.parent
        if self._home is not None:
            self._home.prepare(kernel)
        kernel.provisioner = self._new
        return dict(await self._new.pre_launch(**kwargs))


async def move(
    kernels: AsyncMappingKernelManager,
    kernel_id: str,
    new: KernelProvisionerBase,
    home: Home | None = None,
    prepare: Callable[[Any], Awaitable[None]] | None = None,
) -> None:
    """Let a kernel go on with another provisioner, and its tabs connect to it.

    Args:
        home: Where that listens, if it is on this node.
        prepare: Called with the kernel before its tabs can run a cell in it.
    """
    kernel = kernels.get_kernel(kernel_id)
    old = kernel.provisioner
    kernel.provisioner = _Successor(old, new, home)
    forget_ports(kernels, kernel_id)
    try:
        # Not what that returns: where the addresses are others, it waits for ever.
        await kernels.restart_kernel(kernel_id)
        if prepare is not None:
            await prepare(kernel)
        kernel.execution_state = "idle"
    finally:
        if isinstance(kernel.provisioner, _Successor):
            kernel.provisioner = old
        else:
            await old.cleanup(restart=False)
            reconnect_tabs(kernel_id)


async def cell_ended(kernel: AsyncKernelManager, tell: Callable[[str], None]) -> None:
    """Wait for the end of the running cell, which a move would end.

    Args:
        tell: Takes why the move waits.
    """
    if kernel.execution_state == "busy":
        tell("The kernel moves when the running cell has ended.")
    # Jupyter notes it and tells nobody.
    while kernel.execution_state == "busy":  # noqa: ASYNC110
        await asyncio.sleep(_LOOK_S)


def local_provisioner(kernel: AsyncKernelManager) -> KernelProvisionerBase:
    """Return what starts a kernel on this node."""
    factory = KernelProvisionerFactory.instance()
    return factory.create_provisioner_instance(kernel.kernel_id, kernel.kernel_spec, parent=kernel)
