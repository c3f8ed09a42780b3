"""The end of a rank."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[4]
PROGRAM = """\
import atexit, os, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from dsportal.worker.rank import _run_exit_handlers
pool = ThreadPoolExecutor(1)
pool.submit(print, "worked").result()
threading.Thread(target=lambda: (time.sleep(0.2), print("thread ended"))).start()
atexit.register(print, "handler ran")
_run_exit_handlers()
os._exit(0)
"""


def test_a_rank_ends_with_its_threads_and_handlers_and_waits_for_no_idle_pool() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.splitlines() == ["worked", "thread ended", "handler ran"]
