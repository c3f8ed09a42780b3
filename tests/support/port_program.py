"""A program of a user that listens on a port, and a notebook server beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.eventually import eventually
from tests.support.notebook_server import NotebookServer

USER, ANOTHER_USER = 12345, 65534
JOB, ANOTHER_JOB = "41", "42"
# A program of a user: it tells what it was asked, and tries what a page could do to the portal.
PROGRAM = """
import json, sys
import tornado.httpserver, tornado.ioloop, tornado.netutil, tornado.web, tornado.websocket

PAGES = {
    "/page": ("text/html", "<html><head><title>starts</title></head><body>"
        "<script type=module src=page.js></script></body></html>"),
    "/page.js": ("text/javascript", '''
        const said = await (await fetch("data", {method: "POST", body: "x"})).json();
        const there = new URL("socket", location.href.replace("http", "ws"));
        const first = await new Promise(resolve => {
            new WebSocket(there).onmessage = event => resolve(event.data);
        });
        const portal = await fetch("/user/ada/api/contents").then(a => a.status, () => "refused");
        document.cookie = "a=b; Path=/";
        localStorage.setItem("x", 1);
        const own = document.cookie + " " + localStorage.getItem("x");
        document.title = [said.method, first.includes("origin"), portal, own].join(" ");
    '''),
}

class Echo(tornado.web.RequestHandler):
    def answer(self):
        open(sys.argv[1], "a").write(self.request.uri + chr(10))
        self.set_header("Set-Cookie", "_xsrf=planted; Path=/")
        self.set_header("Clear-Site-Data", '"*"')
        self.set_header("Content-Security-Policy", "sandbox allow-same-origin allow-scripts")
        if self.request.path in PAGES:
            kind, text = PAGES[self.request.path]
            self.set_header("Content-Type", kind)
            self.write(text)
            return
        if self.request.path == "/away":
            self.redirect("/login")
            return
        self.write(json.dumps({
            "uri": self.request.uri,
            "method": self.request.method,
            "body": self.request.body.decode(),
            "headers": {name.lower(): value for name, value in self.request.headers.items()},
        }))
    get = post = put = delete = patch = options = answer
    def check_xsrf_cookie(self): pass

class Socket(tornado.websocket.WebSocketHandler):
    def select_subprotocol(self, offered): return offered[0] if offered else None
    def open(self):
        names = sorted(name.lower() for name in self.request.headers)
        self.write_message(" ".join(names))
    def on_message(self, message): self.write_message(message, binary=isinstance(message, bytes))

(socket,) = tornado.netutil.bind_sockets(0, sys.argv[3])
app = tornado.web.Application([("/socket", Socket), ("/.*", Echo)])
tornado.httpserver.HTTPServer(app).add_socket(socket)
import os
open(sys.argv[2] + ".new", "w").write(str(socket.getsockname()[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
tornado.ioloop.IOLoop.current().start()
"""


class Programs:
    """Programs that users start on the node."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        folder.chmod(0o777)
        self._folder = folder
        self._stack = stack
        self._asked = folder / "asked"
        self._asked.touch()
        self._asked.chmod(0o666)

    def start(self, *, user_id: int = USER, job_id: str = JOB, address: str = "127.0.0.1") -> int:
        """Start one and return its port."""
        port_file = self._folder / f"port-{len(list(self._folder.iterdir()))}"
        is_root = os.getuid() == 0
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, self._asked, port_file, address],
            env={"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": job_id},
            user=user_id if is_root else None,
            group=user_id if is_root else None,
            extra_groups=[] if is_root else None,
            cwd="/",
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return eventually(lambda: int(port_file.read_text()), timeout_s=30)

    def asked(self) -> str:
        """Return what all of them were asked."""
        return self._asked.read_text()


@contextmanager
def running_programs() -> Iterator[Programs]:
    """Yield a way to start programs, which end afterwards."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dsp-"))
        yield Programs(Path(folder), stack)


@contextmanager
def server_in_a_job(tensorboard_python: Path) -> Iterator[NotebookServer]:
    """Yield a server of an ordinary user, as in a job."""
    with tempfile.TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        environ = {"JUPYTER_NO_CONFIG": "1", "SLURM_JOB_ID": JOB}
        user_id = USER if os.getuid() == 0 else None
        server = NotebookServer(folder, tensorboard_python, environ=environ, user_id=user_id)
        folder.chmod(0o755)
        yield server
        server.stop()
