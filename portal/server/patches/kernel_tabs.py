"""Connections to a kernel: one that has moved has all of them made anew.

Jupyter Server connects a tab to the addresses that the kernel has when the tab opens its websocket.
It compares the ports of a restarted kernel with those of its first start alone, so one that comes
back would not be listened to.

Source:
    Jupyter Server 2.21.1, `ZMQChannelsWebsocketConnection`, `MappingKernelManager.ports_changed`.

Shown by:
    tests/programs/portal/server/kernel_jobs/test_kernel_jobs.py
"""

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from jupyter_server.services.kernels.kernelmanager import MappingKernelManager


def forget_ports(kernels: MappingKernelManager, kernel_id: str) -> None:
    """Let the next addresses of a kernel count as new ones, whichever they are."""
    kernels._kernel_ports[kernel_id] = []


def reconnect_tabs(kernel_id: str) -> None:
    """Tell the tabs of a kernel that it has been restarted, and let them connect again."""
    for connection in list(ZMQChannelsWebsocketConnection._open_sockets):
        if connection.kernel_id == kernel_id:
            connection.on_kernel_restarted()
            connection.websocket_handler.close()
