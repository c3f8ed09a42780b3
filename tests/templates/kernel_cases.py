"""A kernel, a cell and the interrupt button, as a notebook has them; run inside a session.

Prints a line for each case, OUTCOME and JSON, as tests/support/launch_cases.py does.
"""

import json
import queue
import sys
import time
from pathlib import Path

from jupyter_client.manager import KernelManager
from wheels import make_wheel

CELL = """
import os, time
from pathlib import Path
from dsportal import run

def count(folder):
    rank = os.environ["HOROVOD_RANK"]
    for number in range(10_000):
        print("line", number)
        time.sleep(0.2)
        Path(folder, rank + ".pid").write_text(str(os.getpid()))

run(count, os.getcwd())
"""
CELL_WITH_BAR = """
import time
from dsportal import report, run

def walk():
    for step in range(1, 31):
        time.sleep(0.1)
        report(step=step, steps=30, images=8, loss=0.5)

run(walk)
"""
CELL_WITH_PACKAGE = """
%pip install --quiet --no-index {wheel}
import json
from dsportal import run

def look():
    import os, sys, tinypackage
    return [tinypackage.SAYS, os.environ["SLURMD_NODENAME"], sys.prefix]

print("FOUND", json.dumps([run(look, results="all"), run(look, gpus=2, nodes=2, results="all")]))
"""
TIMEOUT_S = 120


def case_bar_in_a_cell() -> dict[str, object]:
    """Start a run that reports how far it is.

    Returns:
        How often each kind of message came, and what the bar showed last.
    """
    return with_kernel(_read_bar)


def case_interrupt_a_cell() -> dict[str, object]:
    """Start a run in a cell, read its first lines, press the button.

    Returns:
        Seconds between line 0 and line 5, between button and the end of the cell; the name of the
        error and the lines that the cell shows of it; ranks that still run.
    """
    return with_kernel(_watch)


def case_own_package_on_ranks() -> dict[str, object]:
    """Install a package in a cell, and import it on ranks of this node and of two.

    Returns:
        What each rank found: the package's word, its node and its environment.
    """
    return with_kernel(_install_and_look)


def with_kernel(do) -> dict[str, object]:
    """Do something with a kernel and its client, and end the kernel."""
    manager = KernelManager(kernel_name="tensorflow")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=TIMEOUT_S)
    try:
        return do(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _read_bar(manager, client) -> dict[str, object]:
    message_id = client.execute(CELL_WITH_BAR)
    kinds: list[str] = []
    markup = ""
    while True:
        message = client.get_iopub_msg(timeout=TIMEOUT_S)
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != message_id:
            continue
        kinds.append(kind)
        if kind in {"display_data", "update_display_data"}:
            markup = content["data"]["text/html"]
        if kind == "status" and content["execution_state"] == "idle":
            break
    return {"n": {kind: kinds.count(kind) for kind in sorted(set(kinds))}, "markup": markup}


def _install_and_look(manager, client) -> dict[str, object]:
    wheel = make_wheel(Path.cwd(), "tinypackage", "1.5", "SAYS = 'tiny'\n")
    message_id = client.execute(CELL_WITH_PACKAGE.format(wheel=wheel))
    shown = ""
    while True:
        message = client.get_iopub_msg(timeout=TIMEOUT_S)
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != message_id:
            continue
        if kind == "stream":
            shown += content["text"]
        if kind == "error":
            shown += "\n".join(content["traceback"])
        if kind == "status" and content["execution_state"] == "idle":
            break
    _, _, found = shown.partition("FOUND ")
    if not found:
        sys.exit(shown)
    here, there = json.loads(found.splitlines()[0])
    return {"here": here, "there": there}


def _watch(manager, client) -> dict[str, object]:
    message_id = client.execute(CELL)
    seen_at: dict[int, float] = {}
    pressed_at = None
    error, shown = "", []
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
            error, shown = content["ename"], content["traceback"]
        if kind == "status" and content["execution_state"] == "idle":
            break
    pids = [int(path.read_text()) for path in Path.cwd().glob("*.pid")]
    return {
        "seconds_between_lines_0_and_5": seen_at[5] - seen_at[0],
        "seconds_after_button": time.monotonic() - pressed_at,
        "error": error,
        "shown": shown,
        "alive": [pid for pid in pids if Path(f"/proc/{pid}").exists()],
    }


if __name__ == "__main__":
    for name in sys.argv[1:]:
        try:
            value = globals()[f"case_{name}"]()
        except queue.Empty:
            sys.exit(f"the kernel said nothing for {TIMEOUT_S} s")
        print("OUTCOME", json.dumps({"case": name, "value": value}), flush=True)
