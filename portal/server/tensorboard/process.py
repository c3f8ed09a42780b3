"""The program of one TensorBoard: serves it on a unix socket.

It is run by its path with the Python of the TensorBoard environment, which may lack our package, so
it is one file and imports only the standard library and tensorboard. Its one argument is the
process id of the notebook server; everything else is one JSON object on standard input, since other
users can read command lines. It may be started before there is anything to show: then it loads
TensorBoard and waits for the object. Once it listens it prints `{"note": ""}` on standard output;
the note says what is slower if the fast data server cannot be used.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import gzip
import importlib
import io
import json
import logging
import mimetypes
import os
import re
import select
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1

_DATA_SERVER_TIMEOUT_S = 10
_FIRST_READ_TIMEOUT_S = 5.0
_POLL_S = 0.005

_NO_NAMESPACE = "this node does not let users make network namespaces"


@dataclass(frozen=True)
class Request:
    """What to serve; the JSON object on standard input has these keys.

    Attributes:
        socket: The unix socket to make, in a folder that only the user can enter.
        path_prefix: URL path of the pages, without a slash at the end.
        title: Title of the browser tab.
        program_path: URL path of TensorBoard's script, which the notebook server serves for all
            TensorBoards; empty if each has to serve its own.
    """

    logdir: str
    socket: str
    path_prefix: str
    title: str
    program_path: str


class DataServerError(Exception):
    """The fast data server cannot be used here; the text says why."""


def main() -> int:
    """Serve one TensorBoard until the notebook server kills it.

    Returns:
        1 if the notebook server is gone already, else it never returns.
    """
    if not die_with(int(sys.argv[1])):
        return 1
    note = ""
    try:
        enter_private_network()
        request = read_request()
        port_path = Path(f"{request.socket}.port")
        data_server = DataServer(find_data_server(), request.logdir, port_path)
    except DataServerError as error:
        # Cached: the request is read from standard input only once.
        request, data_server = read_request(), None
        note = (
            f"This TensorBoard reads its logs slowly, because {error}. "
            "A large folder can take minutes to appear: choose one with few runs."
        )
    serve(request, data_server)
    print(json.dumps({"note": note}), flush=True)
    while True:
        signal.pause()


@functools.cache
def read_request() -> Request:
    """Return what to serve; load TensorBoard while the request has not come yet.

    Raises:
        SystemExit: If the notebook server ended without a request.
    """
    if not select.select([sys.stdin], [], [], 0)[0]:
        importlib.import_module("tensorboard.program")
        # Its plugins with what they import: 0.1 s of the 0.15 s from the request to the answer.
        importlib.import_module("tensorboard.default").get_plugins()
    line = sys.stdin.readline()
    if not line:
        sys.exit(1)
    return Request(**json.loads(line))


def die_with(parent_pid: int) -> bool:
    """Have the kernel kill this process as soon as the one that started it ends.

    Returns:
        False if the notebook server, `parent_pid`, had ended before this was in force.

    Source:
        prctl(2), PR_SET_PDEATHSIG.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent_pid


def enter_private_network() -> None:
    """Move this process into a network namespace of its own, with nothing but a loopback.

    The data server speaks TCP without a password: in here nobody else can reach its port. Call it
    before any thread exists.

    Raises:
        DataServerError: If the kernel or the site forbids user namespaces.

    Source:
        user_namespaces(7) for the maps, netdevice(7) for the interface flags.
    """
    user_id, group_id = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None)
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        raise DataServerError(_NO_NAMESPACE)
    try:
        # The kernel refuses gid_map of an unprivileged process until setgroups is denied.
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user_id} {user_id} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group_id} {group_id} 1", encoding="ascii")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            loopback = struct.pack("16sh14x", b"lo", 0)
            (flags,) = struct.unpack("16xh14x", fcntl.ioctl(control, _SIOCGIFFLAGS, loopback))
            loopback = struct.pack("16sh14x", b"lo", flags | _IFF_UP)
            fcntl.ioctl(control, _SIOCSIFFLAGS, loopback)
    except OSError as error:
        raise DataServerError(_NO_NAMESPACE) from error


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
    """Return the path of the data server's binary.

    Raises:
        DataServerError: If there is none for this machine.
    """
    try:
        import tensorboard_data_server
    except ImportError as error:
        raise DataServerError("the package tensorboard-data-server is not installed") from error
    program: str | None = tensorboard_data_server.server_binary()
    if program is None:
        raise DataServerError("there is no data server for this kind of machine")
    return program


class Assets:
    """TensorBoard's scripts and fonts, compressed when a browser requests them.

    TensorBoard compresses all of them at every start: 0.26 s of 0.62 s on our machine.

    Args:
        program_path: URL path of the script that the page loads; empty for its own.

    Source:
        Our measurement with tensorboard 2.21.0, on 2 cores.
    """

    def __init__(self, program_path: str) -> None:
        from tensorboard import assets

        self._program_path = program_path
        self._archive = zipfile.ZipFile(assets.get_default_assets_zip_provider()())
        self._names = set(self._archive.namelist()) - {"index.html"}

    def open_page_alone(self) -> IO[bytes]:
        """Return an archive with only the page in it, as TensorBoard's `assets_zip_provider` does.

        The page then names its fonts relative to itself (TensorBoard names them from the root of
        the host) and loads the script that all TensorBoards share, which a browser compiles once.
        """
        page = self._archive.read("index.html").replace(b"url(/font-", b"url(font-")
        if self._program_path:
            program = b'src="%s"' % self._program_path.encode()
            page = re.sub(rb'src="index\.js[^"]*"', lambda _: program, page)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("index.html", page)
        packed.seek(0)
        return packed

    def serve_beside(self, wsgi_app: Any, path_prefix: str) -> Any:
        """Return a WSGI app that serves scripts and fonts, and leaves the rest to `wsgi_app`.

        The `path_prefix` has no slash at its end.
        """

        def serve(environ: dict[str, Any], start_response: Any) -> Any:
            name = environ["PATH_INFO"].removeprefix(f"{path_prefix}/")
            app = self._answer(name, environ) if name in self._names else wsgi_app
            return app(environ, start_response)

        return serve

    def _answer(self, name: str, environ: dict[str, Any]) -> Any:
        from werkzeug.wrappers import Response

        content = self._archive.read(name)
        is_versioned = "_file_hash=" in environ.get("QUERY_STRING", "")
        headers = {"Cache-Control": "private, max-age=86400" if is_versioned else "no-cache"}
        mimetype = mimetypes.guess_type(name)[0] or "application/octet-stream"
        # Fonts in woff2 are compressed already.
        if "gzip" in environ.get("HTTP_ACCEPT_ENCODING", "") and not mimetype.startswith("font/"):
            content = gzip.compress(content, compresslevel=3)
            headers["Content-Encoding"] = "gzip"
        return Response(content, headers=headers, mimetype=mimetype)


def serve(request: Request, data_server: DataServer | None) -> None:
    """Start TensorBoard in a thread; it listens on the socket when this returns.

    Without a data server TensorBoard reads the event files itself.
    """
    from tensorboard import program
    from werkzeug.serving import ThreadedWSGIServer

    assets = Assets(request.program_path)

    class UnixSocketServer(ThreadedWSGIServer, program.TensorBoardServer):
        request_queue_size = 128

        def __init__(self, wsgi_app: Any, flags: Any) -> None:
            app = wsgi_app
            if data_server is not None:
                app = data_server.wait_before_data(app, request.path_prefix)
            app = assets.serve_beside(app, request.path_prefix)
            # bind() makes the socket with mode 0600; a chmod afterwards would leave a gap.
            old_mask = os.umask(0o177)
            try:
                super().__init__(f"unix://{request.socket}", 0, app)
            finally:
                os.umask(old_mask)

        def server_bind(self) -> None:
            # HTTPServer would look up the "host" in DNS.
            socketserver.TCPServer.server_bind(self)
            self.server_name, self.server_port = "localhost", 0

        def get_url(self) -> str:
            return f"{request.path_prefix}/"

    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    tensorboard = program.TensorBoard(
        assets_zip_provider=assets.open_page_alone, server_class=UnixSocketServer
    )
    tensorboard.configure(
        argv=[
            "tensorboard",
            f"--logdir={request.logdir}",
            f"--path_prefix={request.path_prefix}",
            f"--window_title={request.title}",
            f"--grpc_data_provider={data_server.address}" if data_server else "--load_fast=false",
        ]
    )
    tensorboard.launch()


if __name__ == "__main__":
    sys.exit(main())
