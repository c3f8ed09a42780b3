"""AsyncMappingKernelManager: tells when it begins and ends to listen to a kernel, and its name.

Source:
    Jupyter Server 2.21.1, `MappingKernelManager.start_watching_activity`, called at each start and
    restart, and `stop_watching_activity`; `start_kernel`, whose `env` is kept for restarts.

Shown by:
    tests/unit/portal/server/base/test_kernel_listener.py
    tests/sessions/test_kernel_gpu_command.py
"""

import os
from collections.abc import Awaitable, Callable
from typing import Any

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from spawner.patch import wrap

_Take = Callable[[str], None]
_Start = Callable[..., Awaitable[str]]


def follow_kernels(
    kernel_manager: AsyncMappingKernelManager, *, on_start: _Take, on_stop: _Take
) -> None:
    """Have a kernel's id taken at its start, and before its end or its restart."""
    wrap(kernel_manager, "start_watching_activity", lambda original: _both(original, on_start))
    wrap(kernel_manager, "stop_watching_activity", lambda original: _both(original, on_stop))


def name_kernels(kernel_manager: AsyncMappingKernelManager, variable: str) -> None:
    """Let each kernel that starts from now on have its id in an environment `variable`."""

    def around(original: _Start) -> _Start:
        async def start_kernel(
            *, kernel_id: str | None = None, env: dict[str, str] | None = None, **kwargs: Any
        ) -> str:
            kernel_id = kernel_id or kernel_manager.new_kernel_id(**kwargs)
            env = {**(os.environ if env is None else env), variable: kernel_id}
            return await original(kernel_id=kernel_id, env=env, **kwargs)

        return start_kernel

    wrap(kernel_manager, "start_kernel", around)


def _both(original: _Take, take: _Take) -> _Take:
    def watching_activity(kernel_id: str) -> None:
        original(kernel_id)
        take(kernel_id)

    return watching_activity
