"""A real notebook server with the portal's extension, as one user has it; no hub and no Slurm."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

from portal.hub.session_environment import EXTENSIONS_OFF
from tests.support.checkout import PYTHONPATH
from tests.support.eventually import eventually
from tests.support.told import told

CHECKOUT = Path(__file__).parents[2]
TOKEN = "for-these-tests"
START_TIMEOUT_S = 60
FOLDERS = ("logs", "more", "runs/first", "runs/second", "broken", "mute", "slow")


class NotebookServer:
    """A notebook server of one user, and that user's way to it."""

    def __init__(
        self,
        folder: Path,
        tensorboard_python: Path,
        *options: str,
        argv: Sequence[str] = (sys.executable, "-m", "jupyter_server"),
        environ: dict[str, str] | None = None,
        extensions: Sequence[str] = ("portal.server",),
        user_id: int | None = None,
    ) -> None:
        self.root = folder / "home"
        for name in FOLDERS:
            (self.root / name).mkdir(parents=True)
        self.tmp_dir = folder / "tmp"
        self.tmp_dir.mkdir(exist_ok=True)
        if user_id is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, user_id, user_id)
        environ = environ or {"JUPYTER_NO_CONFIG": "1"}
        tables = json.loads(environ.get("PORTAL_SETTINGS", "{}"))
        viewer = _environment_of(tensorboard_python, folder / "tensorboard")
        tables["environments"] = {"tensorboard": str(viewer), **tables.get("environments", {})}
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.root),
            "LANG": "C.UTF-8",
            "SLURM_TMPDIR": str(self.tmp_dir),
            "PYTHONPATH": PYTHONPATH,
            "PYTHONFAULTHANDLER": "1",
            "JUPYTERHUB_API_TOKEN": "secret-of-the-session",
            **environ,
            **told(**tables),
        }
        command = [*argv, "--allow-root", "--no-browser", "--ServerApp.port=0"]
        decided = {**dict.fromkeys(EXTENSIONS_OFF, False), **dict.fromkeys(extensions, True)}
        command += [f"--ServerApp.jpserver_extensions={decided}"]
        command += [f"--ServerApp.root_dir={self.root}", f"--IdentityProvider.token={TOKEN}"]
        command += ["--ServerApp.base_url=/user/ada/", *options]
        self.log_path = folder / "server.log"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdout=log,
                stderr=log,
                cwd=self.root,
                user=user_id,
                group=user_id,
                extra_groups=None if user_id is None else [],
            )
        self.host = eventually(self._read_host, timeout_s=START_TIMEOUT_S)
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"token {TOKEN}"

    def _read_host(self) -> str:
        assert self.process.poll() is None, self.log_path.read_text()
        runtime_dir = self.root / ".local/share/jupyter/runtime"
        (info,) = runtime_dir.glob(f"jpserver-{self.process.pid}.json")
        host = f"http://localhost:{json.loads(info.read_text())['port']}"
        # The file may be there a moment before the server listens.
        requests.get(f"{host}/user/ada/api", timeout=5).raise_for_status()
        return host

    def ask(self, method: str, path: str = "", **kwargs: Any) -> requests.Response:
        """Call the REST interface."""
        url = f"{self.host}/user/ada/portal/api/tensorboards{path}"
        return self.http.request(method, url, timeout=30, **kwargs)

    def open(self, *folders: str) -> dict[str, Any]:
        """Open a TensorBoard on folders that have to be fine."""
        body = {"logdir": folders[0]} if len(folders) == 1 else {"logdirs": folders}
        answer = self.ask("POST", json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def page(self, board: dict[str, Any], path: str = "", **kwargs: Any) -> requests.Response:
        """Ask for a page of a TensorBoard."""
        method = kwargs.pop("method", "GET")
        return self.http.request(method, f"{self.host}{board['url']}{path}", timeout=30, **kwargs)

    def close_all(self) -> None:
        """Stop every TensorBoard."""
        for board in self.ask("GET").json():
            self.ask("DELETE", f"/{board['id']}")

    def tensorboard_pids(self) -> list[int]:
        """Return the processes that the server started, and theirs."""
        return descendants(self.process.pid)

    def sockets(self) -> list[Path]:
        """Return the sockets of the TensorBoards."""
        return list(self.tmp_dir.glob("dsportal-*/*/socket"))

    def kill(self) -> None:
        """End the server as a crash would."""
        self.process.kill()
        self.process.wait()
        self.http.close()

    def stop(self) -> None:
        """End the server as the end of a session does."""
        self.process.terminate()
        try:
            self.process.wait(timeout=START_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            # Its threads write where they are.
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            raise AssertionError(self.log_path.read_text()) from error
        finally:
            self.http.close()


def _environment_of(python: Path, folder: Path) -> Path:
    """Return the environment of a Python, or one made in `folder` around a stand-in for it."""
    if python.parent.name == "bin" and python.name == "python":
        return python.parent.parent
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(python)
    return folder


def descendants(pid: int) -> list[int]:
    """Return the ids of all processes below one."""
    pids = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    parents = {pid: _state_and_parent(pid)[1] for pid in pids if is_alive(pid)}
    found: list[int] = []
    level = [pid]
    while level:
        level = [child for child, parent in parents.items() if parent in level]
        found += level
    return found


def is_alive(pid: int) -> bool:
    """Return whether a process is there and is no zombie."""
    return _state_and_parent(pid)[0] not in {"gone", "Z"}


def _state_and_parent(pid: int) -> tuple[str, int]:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "gone", 0
    return fields[0], int(fields[1])


def server_python() -> Path:
    """Return the Python of sessions, or skip the test where their environment is not there."""
    python = Path("/opt/data-scientist-portal/environments/server/bin/python")
    if not os.access(python, os.X_OK):
        pytest.skip(f"{python} is not there; deploy/environments/build makes it")
    return python


def start_jupyterlab(
    folder: Path,
    tensorboard_python: Path,
    environ: dict[str, str] | None = None,
    user_id: int | None = None,
) -> NotebookServer:
    """Start JupyterLab and Notebook of a session with the labextension of this checkout.

    Args:
        folder: Gets the server's home and everything else that it writes.
        user_id: Who runs it; None for this process's own user.
    """
    labextensions = folder / "share" / "labextensions"
    labextensions.mkdir(parents=True)
    labextensions.joinpath("data-scientist-portal").symlink_to(
        CHECKOUT / "portal" / "server" / "labextension"
    )
    return NotebookServer(
        folder,
        tensorboard_python,
        argv=(str(server_python()), "-m", "jupyter", "lab"),
        environ={"JUPYTER_PATH": str(folder / "share"), **(environ or {})},
        user_id=user_id,
    )
