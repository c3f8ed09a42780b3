"""A kernel, a cell and the interrupt button, as a notebook has them; run inside a session.

Prints one line, OUTCOME and JSON, as tests/launch_cases.py does.
"""

from __future__ import annotations

import json
import queue
import sys
import time
from pathlib import Path

from jupyter_client.manager import KernelManager

CELL = """
import os, time
from pathlib import Path
from portal.launch import run

def count(folder):
    rank = os.environ["HOROVOD_RANK"]
    for number in range(10_000):
        print("line", number)
        time.sleep(0.2)
        Path(folder, rank + ".pid").write_text(str(os.getpid()))

run(count, os.getcwd())
"""
TIMEOUT_S = 120


def interrupt_a_cell() -> dict[str, object]:
    """Start a run in a cell, read its first lines, press the button.

    Returns:
        Seconds between line 0 and line 5, between button and the end of the cell; the name of the
        error; ranks that still run.
    """
    manager = KernelManager(kernel_name="tensorflow")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=TIMEOUT_S)
    try:
        return _watch(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _watch(manager, client) -> dict[str, object]:
    message_id = client.execute(CELL)
    seen_at: dict[int, float] = {}
    pressed_at = None
    error = ""
    while True:
        message = client.get_iopub_msg(timeout=TIMEOUT_S)
        if message["parent_header"].get("msg_id") != message_id:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            for line in content["text"].splitlines():
                if line.startswith("line "):
                    seen_at[int(line.split()[1])] = time.monotonic()
        if pressed_at is None and len(seen_at) > 5 and len(list(Path.cwd().glob("*.pid"))) == 2:
            pressed_at = time.monotonic()
            manager.interrupt_kernel()
        if kind == "error":
            error = content["ename"]
        if kind == "status" and content["execution_state"] == "idle":
            break
    pids = [int(path.read_text()) for path in Path.cwd().glob("*.pid")]
    return {
        "seconds_between_lines_0_and_5": seen_at[5] - seen_at[0],
        "seconds_after_button": time.monotonic() - pressed_at,
        "error": error,
        "alive": [pid for pid in pids if Path(f"/proc/{pid}").exists()],
    }


if __name__ == "__main__":
    try:
        value = interrupt_a_cell()
    except queue.Empty:
        sys.exit(f"the kernel said nothing for {TIMEOUT_S} s")
    print("OUTCOME", json.dumps({"case": "interrupt_a_cell", "value": value}))
