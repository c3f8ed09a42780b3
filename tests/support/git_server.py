"""A git server on this machine that wants a password, over http or https."""

import base64
import os
import ssl
import subprocess
from contextlib import ExitStack
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

from tests.support.stand_in_server import Handler, serving

USER_NAME, PASSWORD = "ada", "correct-horse-7291"
REPOSITORY = "course"
IDENTITY = ("-c", "user.name=Grace", "-c", "user.email=grace@example.org")


class GitServer:
    """Serves one repository, `course`, with a notebook on its branch `main`.

    Args:
        has_tls: Whether it speaks https; `certificate` is its own authority.
    """

    def __init__(self, folder: Path, *, is_open: bool = False, has_tls: bool = False) -> None:
        self.work_dir = folder / "work"
        self.certificate = folder / "git-server.pem"
        served = folder / "served"
        _git("init", "-q", "--bare", "-b", "main", served / f"{REPOSITORY}.git")
        _git("clone", "-q", served / f"{REPOSITORY}.git", self.work_dir)
        _git("-C", self.work_dir, "checkout", "-q", "-b", "main")
        self.publish("lesson.txt", "first\n")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(served, is_open=is_open))
        if has_tls:
            self._speak_tls()
        scheme = "https" if has_tls else "http"
        self.url = f"{scheme}://localhost:{self._server.server_port}/{REPOSITORY}.git"
        self._serving = ExitStack()
        self._serving.enter_context(serving(self._server))

    def publish(self, name: str, text: str) -> None:
        """Commit a file and push it."""
        (self.work_dir / name).write_text(text)
        _git("-C", self.work_dir, "add", ".")
        _git("-C", self.work_dir, "commit", "-q", "-m", f"Write {name}")
        _git("-C", self.work_dir, "push", "-q", "origin", "main")

    def stop(self) -> None:
        """Stop to serve."""
        self._serving.close()

    def _speak_tls(self) -> None:
        key = self.certificate.with_suffix(".key")
        argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        argv += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
        argv += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key)]
        subprocess.run([*argv, "-out", str(self.certificate)], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)


def _git(*arguments: object) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": "/", "GIT_CONFIG_GLOBAL": os.devnull}
    argv = ["git", *IDENTITY, *(str(word) for word in arguments)]
    subprocess.run(argv, check=True, cwd="/", env=environ, capture_output=True)


def _handler(served: Path, *, is_open: bool) -> type[Handler]:
    word = base64.b64encode(f"{USER_NAME}:{PASSWORD}".encode()).decode()

    class OfGit(Handler):
        """Hands requests to git's own CGI program."""

        # With lengths: git takes a TLS connection that just ends for an attack.
        protocol_version = "HTTP/1.1"
        wanted: ClassVar[str] = f"Basic {word}"

        def do_GET(self) -> None:
            if not is_open and self.headers.get("Authorization") != self.wanted:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            environ = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(served),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(content)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            argv = ["git", "http-backend"]
            done = subprocess.run(argv, input=content, env=environ, capture_output=True, check=True)
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            lines = [line.split(": ", 1) for line in head.decode().splitlines()]
            headers = dict(lines)
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            headers["Content-Length"] = str(len(body))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

    return OfGit
