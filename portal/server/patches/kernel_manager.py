"""AsyncMappingKernelManager: tells when it begins and ends to listen to a kernel.

Source:
    Jupyter Server 2.21.1, `MappingKernelManager.start_watching_activity`, called at each start and
    restart, and `stop_watching_activity`.

Shown by:
    tests/unit/portal/server/base/test_kernel_listener.py
"""

from collections.abc import Callable

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from spawner.patch import wrap

_Take = Callable[[str], None]


def follow_kernels(
    kernel_manager: AsyncMappingKernelManager, *, on_start: _Take, on_stop: _Take
) -> None:
    """Have a kernel's id taken at its start, and before its end or its restart."""
    wrap(kernel_manager, "start_watching_activity", lambda original: _both(original, on_start))
    wrap(kernel_manager, "stop_watching_activity", lambda original: _both(original, on_stop))


def _both(original: _Take, take: _Take) -> _Take:
    def watching_activity(kernel_id: str) -> None:
        original(kernel_id)
        take(kernel_id)

    return watching_activity
