"""GPUs that belong to a kernel, on a real Slurm: another node, real keys, and nothing left."""

import asyncio
import json
import pwd
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.eventually import eventually
from tests.support.kernels import ask, connect, run_over
from tests.support.portal_client import ADDRESS, PortalClient
from tests.support.websockets import close_websocket

pytestmark = pytest.mark.cluster

USER = "ada"
WHERE = "import os; print(os.environ.get('SLURM_JOB_NAME'), os.environ.get('SLURM_GPUS_ON_NODE'))"
DSPORTAL = "/opt/data-scientist-portal/environments/hub/bin/dsportal"
FOLDER = Path(pwd.getpwnam(USER).pw_dir) / ".local/state/data-scientist-portal/kernels"


class Session:
    """A session with a kernel, in place of the one that its user may have."""

    def __init__(self, **options: str) -> None:
        self.client = PortalClient(USER)
        self.client.login()
        self.token = self.client.token()
        self.host = ADDRESS
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"token {self.token}"
        self.client.stop(self.token)
        self.client.start(self.token, gpus=0, **options)
        self.start_kernel()

    def start_kernel(self, name: str = "python3") -> None:
        """Start a kernel, and use it from now on."""
        self.kernel = ask(self, "POST", "api/kernels", json={"name": name})["id"]

    def run(self, code: str) -> str:
        """Run a cell as a tab does that has just connected."""

        async def run() -> str:
            socket = await connect(self, self.kernel)
            shown = await asyncio.wait_for(run_over(socket, code), 90)
            await close_websocket(socket)
            return shown

        return asyncio.run(run())

    def open(self, notebook: str) -> None:
        """Open a notebook, and use its kernel from now on."""
        wanted = {"path": notebook, "name": notebook, "type": "notebook"}
        opened = ask(self, "POST", "api/sessions", json=wanted | {"kernel": {"name": "python3"}})
        self.kernel = opened["kernel"]["id"]

    @property
    def gpus(self) -> dict[str, Any]:
        """What the button shows."""
        return dict(ask(self, "GET", f"portal/api/kernels/{self.kernel}/gpus"))

    def has(self, n_gpus: int) -> None:
        """Wait until the kernel has so many."""
        eventually(lambda: self.gpus["gpus"] == n_gpus and not self.gpus["is_waiting"], 60)


def run(*argv: str) -> str:
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def kernel_jobs() -> list[str]:
    queued = run("squeue", "-h", f"--user={USER}", "--format=%j %A").splitlines()
    return [line for line in queued if line.startswith("kernel-of-")]


def notices(session: Session) -> list[str]:
    """What all tabs show."""
    return list(ask(session, "GET", "portal/api/session")["notices"])


@pytest.fixture
def own_session() -> Iterator[Session]:
    one = Session()
    yield one
    one.client.stop(one.token)


@pytest.fixture(scope="module")
def one_session() -> Iterator[Session]:
    one = Session()
    yield one
    one.client.stop(one.token)


@pytest.fixture
def session(one_session: Session) -> Iterator[Session]:
    """A session of several tests, with a kernel for this one alone."""
    one_session.start_kernel()
    yield one_session
    ask(one_session, "DELETE", f"api/kernels/{one_session.kernel}")
    eventually(lambda: not kernel_jobs() and not list(FOLDER.glob("*")), timeout_s=30)


def test_a_kernel_gets_gpus_by_a_cell_and_gives_them_back(session: Session) -> None:
    assert not session.run(WHERE).startswith("kernel-of-")
    session.run("kept = [1]; log = open('/dev/null')")
    began_s = time.monotonic()
    shown = session.run("%gpu 1 --hours 0.5")
    assert "starts anew with 1 GPU. 2 variables come along." in shown
    assert "Not restored: log (open file, cell 2)." in shown
    session.has(1)
    name, n_gpus = session.run(WHERE).split()
    print(f"first answer with a GPU after {time.monotonic() - began_s:.1f} s")
    assert (name[:10], n_gpus) == ("kernel-of-", "1")
    assert session.gpus["words"].startswith("1 simulated GPU, 2")

    session.run("kept.append(2)")
    assert "starts anew in the session" in session.run("%gpu 0")
    session.has(0)
    assert session.run("kept") == "[1, 2]"
    session.run("%gpu 1 --variables never")
    session.has(1)
    name = session.run(WHERE).split()[0]
    assert "not defined" in session.run("kept")
    assert session.run("held = 1; print(held)") == "1\n"
    ask(session, "POST", f"api/kernels/{session.kernel}/restart")
    assert "not defined" in session.run("held")
    assert session.run(WHERE).split() == [name, "1"]
    eventually(lambda: len(kernel_jobs()) == 1, timeout_s=30)

    assert "starts anew in the session" in session.run("%gpu 0")
    session.has(0)
    assert not session.run(WHERE).startswith("kernel-of-")
    eventually(lambda: not kernel_jobs(), timeout_s=30)
    assert not list(FOLDER.iterdir())

    assert "starts anew with 2 GPUs" in session.run("%gpu 2")
    session.has(2)
    assert session.run(WHERE).split()[1] == "2"


def test_the_hub_counts_the_gpus_of_a_kernel_with_its_session(session: Session) -> None:
    session.run("%gpu 2")
    session.has(2)

    # The hub asks Slurm every few seconds.
    eventually(lambda: "0 GPUs and 2 of kernels" in run(DSPORTAL, "status"), timeout_s=30)
    for page, words in {"home": "2 GPUs in 1 kernel", "cluster": "kernel"}.items():
        shown = session.client.http.get(f"{ADDRESS}/hub/{page}", timeout=30)
        assert words in shown.text, page


def test_a_session_knows_the_limits_of_its_user_and_when_gpus_are_free(session: Session) -> None:
    told = "import json, os; print([*json.loads(os.environ['PORTAL_SETTINGS'])['limits']])"

    assert "max_hours" in session.run(told)
    choices = ask(session, "GET", "portal/api/kernel-gpus")
    assert choices["first_hours"] in [value for value, _ in choices["hours"]]
    forecast = f"portal/api/kernels/{session.kernel}/gpus/forecast"
    said = ask(session, "POST", forecast, json={"gpus": 1, "hours": choices["first_hours"]})
    assert said["message"].startswith("Slurm expects it to start")
    assert not kernel_jobs()


def test_keys_and_outputs_are_for_the_user_alone(session: Session) -> None:
    session.run("%gpu 1")
    session.has(1)
    (folder,) = FOLDER.glob("kernel-*")
    files = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert files["kernel.json"] == files["order.json"] == 0o600

    info = json.loads((folder / "kernel.json").read_text())
    order = json.loads((folder / "order.json").read_text())
    assert not [name for name in order["environ"] if name.startswith("JUPYTERHUB_")]
    assert len(info["curve_secretkey"]) == 40


def test_the_setting_of_jupyterlab_decides_whether_variables_come_along(session: Session) -> None:
    settings = "lab/api/settings/data-scientist-portal:kernel-gpus"
    session.run("kept = 1")
    ask(session, "PUT", settings, json={"raw": '{"variables": "never"}'})
    try:
        assert "stay behind" in session.run("%gpu 1")
        session.has(1)
        assert "not defined" in session.run("kept")
        assert ask(session, "GET", "portal/api/kernel-gpus")["variables"] == "never"
    finally:
        ask(session, "PUT", settings, json={"raw": "{}"})


def test_the_end_of_a_session_ends_the_jobs_of_its_kernels(own_session: Session) -> None:
    own_session.run("%gpu 1")
    own_session.has(1)
    assert kernel_jobs()

    own_session.client.stop(own_session.token)
    eventually(lambda: not kernel_jobs(), timeout_s=30)
