"""A process ends although a thread of it does not, and not before what still writes."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[4]
PROGRAM = """\
import logging, sys, threading, time
from pathlib import Path
from portal.server.base.lingering_threads import end_despite_threads

def write():
    threading.main_thread().join()
    time.sleep(0.2)
    Path(sys.argv[2]).write_text("written")

logging.basicConfig()
threads = {"stuck": threading.Event().wait, "writer": write}
for name in sys.argv[3:]:
    threading.Thread(target=threads[name], name=name).start()
end_despite_threads(logging.getLogger("server"), grace_s=float(sys.argv[1]))
print("the end of the program")
"""


def run(grace_s: float, target: Path, *threads: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(grace_s), target, *threads],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_thread_that_never_ends_is_named_and_left(tmp_path: Path) -> None:
    done = run(0.5, tmp_path / "file", "stuck", "writer")

    assert done.returncode == 0
    assert done.stdout == "the end of the program\n"
    assert "Ending although a thread still runs: stuck\n" in done.stderr
    assert (tmp_path / "file").read_text() == "written"


def test_a_process_whose_threads_have_ended_does_not_wait(tmp_path: Path) -> None:
    done = run(600, tmp_path / "file", "writer")

    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "file").read_text() == "written"
