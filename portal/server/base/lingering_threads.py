"""The end of the server's process, although a thread of it never ends."""

import logging
import os
import sys
import threading
import time

# For what still writes. Slurm kills the session's job KillWait after SIGTERM, 30 s by default.
GRACE_S = 5.0


def end_despite_threads(log: logging.Logger, grace_s: float = GRACE_S) -> None:
    """Have this process end soon after its main thread, with exit status 0.

    Python waits for all other threads without a limit. AnyIO's threads end with the task that
    started them: if a request has not ended when the event loop stops, they stay, and so would the
    session's job with its GPUs. So does a thread that reads from a storage that does not answer.

    Args:
        log: Gets the names of the threads that did not end.
    """
    threading.Thread(target=_end, args=(log, grace_s), name="end", daemon=True).start()


def _end(log: logging.Logger, grace_s: float) -> None:
    main = threading.main_thread()
    main.join()
    time.sleep(grace_s)
    others = [thread for thread in threading.enumerate() if not thread.daemon and thread != main]
    names = ", ".join(sorted({thread.name for thread in others}))
    log.warning("Ending although a thread still runs: %s", names)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)
