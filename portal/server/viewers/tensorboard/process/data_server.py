"""TensorBoard's own fast reader of event files."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

_DATA_SERVER_TIMEOUT_S = 10
_FIRST_READ_TIMEOUT_S = 5.0
_POLL_S = 0.005


class DataServerError(Exception):
    """The fast data server cannot be used here; the text says why."""


class DataServer:
    """TensorBoard's own fast reader of event files, a process that ends with this one.

    It reads while the rest of TensorBoard is still being imported. TensorBoard would start it
    itself, but polls for its port only every 0.5 s, and does not know when it has read everything.

    Args:
        port_path: File that it writes its port to.

    Attributes:
        address: "host:port".

    Raises:
        DataServerError: If it does not start.

    Source:
        `server --help` and the log lines of tensorboard-data-server 0.7.2.
    """

    def __init__(self, program: str, logdir: str, port_path: Path) -> None:
        # Other users can read command lines: the link hides the folder's name. It also keeps
        # working if the folder is deleted and made again.
        link = port_path.with_name("logs")
        link.symlink_to(logdir)
        argv = [program, f"--logdir={link.name}", "--host=127.0.0.1", "--port=0", "--verbose"]
        argv += [f"--port-file={port_path}", "--die-after-stdin"]
        self._has_read = threading.Event()
        self._patient_until = time.monotonic() + _FIRST_READ_TIMEOUT_S
        # --die-after-stdin: it runs for as long as this pipe is open.
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=link.parent
        )
        self.address = f"127.0.0.1:{self._read_port(port_path)}"
        threading.Thread(target=self._follow_log, daemon=True).start()

    def _read_port(self, path: Path) -> int:
        deadline = time.monotonic() + _DATA_SERVER_TIMEOUT_S
        while self.process.poll() is None and time.monotonic() < deadline:
            port = path.read_text(encoding="ascii") if path.exists() else ""
            # Without the newline the file is only half written.
            if port.endswith("\n"):
                return int(port)
            time.sleep(_POLL_S)
        with self.process:
            self.process.kill()
        raise DataServerError(f"the data server did not start within {_DATA_SERVER_TIMEOUT_S} s")

    def _follow_log(self) -> None:
        for line in self.process.stderr or ():
            if b" INFO " not in line:
                sys.stderr.write(line.decode("utf-8", "replace"))
            elif b"Finished load cycle" in line:
                self._has_read.set()
        # The data server has ended: nobody shall wait for it.
        self._has_read.set()

    def wait_until_read(self) -> None:
        """Return once all files were read, at most 5 s after the start."""
        self._has_read.wait(max(0.0, self._patient_until - time.monotonic()))

    def wait_before_data(self, wsgi_app: Any, path_prefix: str) -> Any:
        """Return `wsgi_app` with requests for data held back until everything was read once.

        A page that comes earlier would show half of the curves, or none, until it is reloaded. The
        `path_prefix` has no slash at its end.
        """
        data = (f"{path_prefix}/data/", f"{path_prefix}/experiment/")

        def answer(environ: dict[str, Any], start_response: Any) -> Any:
            if environ["PATH_INFO"].startswith(data):
                self.wait_until_read()
            return wsgi_app(environ, start_response)

        return answer


def find_data_server() -> str:
    """Return the path of the data server's binary."""
    try:
        import tensorboard_data_server
    except ImportError as error:
        raise DataServerError("the package tensorboard-data-server is not installed") from error
    program: str | None = tensorboard_data_server.server_binary()
    if program is None:
        raise DataServerError("there is no data server for this kind of machine")
    return program
