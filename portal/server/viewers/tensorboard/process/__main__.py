"""The program of one TensorBoard: serves it on a unix socket.

What to serve is one JSON object on standard input, since other users can read command lines. It may
be started before there is anything to show: then it loads TensorBoard and waits for the object.
Once it listens it prints `{"note": ""}` on standard output; the note says what is slower if the
fast data server cannot be used.
"""

import functools
import importlib
import io
import json
import logging
import os
import select
import signal
import socketserver
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

if not __package__:
    # Run by its path: then Python takes it for no part of a package.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    __package__ = "process"

from .data_server import DataServer, DataServerError, find_data_server


@dataclass(frozen=True)
class Request:
    """What to serve; the JSON object on standard input has these keys.

    Attributes:
        socket: The unix socket to make, in a folder that only the user can enter.
        path_prefix: URL path of the pages, without a slash at the end.
    """

    logdir: str
    socket: str
    path_prefix: str
    title: str


def main() -> NoReturn:
    """Serve one TensorBoard until the notebook server kills it; it never returns."""
    request = read_request()
    note, data_server = "", None
    try:
        data_server = start_data_server(request)
    except DataServerError as error:
        note = (
            f"This TensorBoard reads its logs slowly, because {error}. "
            "A large folder can take minutes to appear: choose one with few runs."
        )
    serve(request, data_server)
    print(json.dumps({"note": note}), flush=True)
    while True:
        signal.pause()


def start_data_server(request: Request) -> DataServer:
    """Start the fast reader of event files.

    Raises:
        DataServerError: If it cannot be used here.
    """
    # It speaks TCP without a password.
    if reason := os.environ.get("PORTAL_NETWORK_IS_SHARED"):
        raise DataServerError(reason)
    return DataServer(find_data_server(), request.logdir, Path(f"{request.socket}.port"))


def read_request() -> Request:
    """Return what to serve."""
    if not select.select([sys.stdin], [], [], 0)[0]:
        importlib.import_module("tensorboard.program")
        # Its plugins with what they import.
        importlib.import_module("tensorboard.default").get_plugins()
        read_assets()
    line = sys.stdin.readline()
    if not line:
        sys.exit(1)
    return Request(**json.loads(line))


def serve(request: Request, data_server: DataServer | None) -> None:
    """Start TensorBoard in a thread; it listens on the socket when this returns.

    Without a data server TensorBoard reads the event files itself.
    """
    from tensorboard import program
    from werkzeug.serving import ThreadedWSGIServer

    class UnixSocketServer(ThreadedWSGIServer, program.TensorBoardServer):
        request_queue_size = 128

        def __init__(self, wsgi_app: Any, flags: Any) -> None:
            app = wsgi_app
            if data_server is not None:
                app = data_server.wait_before_data(app, request.path_prefix)
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
        assets_zip_provider=open_assets, server_class=UnixSocketServer
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


def open_assets() -> IO[bytes]:
    """Open TensorBoard's files as one archive."""
    return io.BytesIO(read_assets())


@functools.cache
def read_assets() -> bytes:
    """Return TensorBoard's files, with a page that names its fonts relative to itself.

    TensorBoard names them from the root of the host, which is the hub's.
    """
    from tensorboard import assets

    changed = io.BytesIO()
    with (
        zipfile.ZipFile(assets.get_default_assets_zip_provider()()) as given,
        zipfile.ZipFile(changed, "w") as written,
    ):
        for name in given.namelist():
            written.writestr(name, given.read(name).replace(b"url(/font-", b"url(font-"))
    return changed.getvalue()


if __name__ == "__main__":
    main()
