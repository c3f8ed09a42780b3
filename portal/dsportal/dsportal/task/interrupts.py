"""What an interrupt of the kernel means, and no second one while something is being stopped."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# The request to end comes right after the interrupt.
_END_WITHIN_S = 0.5
_LOOK_S = 0.02


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Ignore SIGINT, so that pressing the interrupt button again does not stop the clean-up.

    Yields:
        Once. Only the main thread can be interrupted; elsewhere nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def is_kernel_ending() -> bool:
    """Return whether the kernel was interrupted because it ends, alone or with its session.

    Jupyter interrupts a busy kernel before it asks it to end. That is nobody who wants to stop what
    the kernel waits for.

    Source:
        jupyter_client 8.10, KernelManager._async_shutdown_kernel; ipykernel 7.4,
        Kernel._shutdown_message, which the thread of its control channel sets.
    """
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython.get_ipython(), "kernel", None) if ipython is not None else None
    with without_interrupts():
        give_up_at = time.monotonic() + _END_WITHIN_S
        while kernel is not None and time.monotonic() < give_up_at:
            if getattr(kernel, "_shutdown_message", None) is not None:
                return True
            time.sleep(_LOOK_S)
    return False
