"""What a real notebook server tells its pages about the session; the hub is a stand-in."""

import os
import signal
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.eventually import eventually
from tests.support.kernels import run_cell
from tests.support.notebook_server import NotebookServer
from tests.support.stand_in_server import Handler, serving
from tests.support.told import told

REFUSAL = "This site allows 8 hours in all."


class Hub(ThreadingHTTPServer):
    """Knows one session, extends it once and remembers who asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.left_s = 900
        self.n_left = 1
        self.tokens: set[str | None] = set()
        self.is_ended = False


class _Answers(Handler):
    server: Hub

    def do_GET(self) -> None:
        self._answer(200, self._session())

    def do_POST(self) -> None:
        hub = self.server
        if hub.n_left == 0:
            self._answer(409, {"message": REFUSAL})
            return
        hub.left_s, hub.n_left = hub.left_s + 3600, 0
        self._answer(200, self._session())

    def do_DELETE(self) -> None:
        self.server.is_ended = True
        self._answer(202, {})

    def _session(self) -> dict[str, Any]:
        extension = {"step_s": 3600 * self.server.n_left, "n_left": self.server.n_left}
        return {"left_s": self.server.left_s, "extension": extension}

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        self.server.tokens.add(self.headers["Authorization"])
        self.answer(status, body)


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with serving(Hub()) as hub:
        yield hub


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path, hub: Hub
) -> Iterator[NotebookServer]:
    environment = {
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTERHUB_API_URL": f"http://127.0.0.1:{hub.server_port}/hub/api",
        **told(clock={"warnings_minutes": [30, 15, 5]}, meter={"interval_s": 0.5}),
        "PORTAL_GPUS_SIMULATED": "1",
        "PORTAL_N_GPUS": "2",
        "SLURM_CPUS_ON_NODE": "16",
        "SLURM_MEM_PER_NODE": "98304",
    }
    folder = tmp_path_factory.mktemp("session")
    server = NotebookServer(folder, tensorboard_python, environ=environment)
    yield server
    server.stop()


def ask(server: NotebookServer, method: str, path: str = "", **kwargs: Any) -> requests.Response:
    url = f"{server.host}/user/ada/portal/api/session{path}"
    return server.http.request(method, url, timeout=30, **kwargs)


def test_a_page_learns_the_time_left_from_the_hub(server: NotebookServer, hub: Hub) -> None:
    clock = ask(server, "GET").json()["clock"]

    assert 890 <= clock["left_s"] <= 900
    assert clock["warnings_s"] == [1800, 900, 300]
    assert hub.tokens == {"token secret-of-the-session"}


def test_the_meter_says_what_the_session_has_and_that_gpus_are_simulated(
    server: NotebookServer,
) -> None:
    def meter() -> Any:
        found = ask(server, "GET").json()["meter"]
        return found if found and found["cpu_percent"] is not None else None

    found = eventually(meter, timeout_s=10)

    assert (found["n_cores"], found["memory_limit_mib"], found["n_gpus"]) == (
        min(16, os.cpu_count() or 1),
        98304,
        2,
    )
    assert found["are_gpus_simulated"] is True
    assert found["memory_mib"] > 20
    assert len(ask(server, "GET", "/history").json()["samples"]) >= 2


async def test_the_panel_learns_which_programs_and_cells_ran(server: NotebookServer) -> None:
    code = "# a comment\nimport time\nends_s = time.time() + 2\nwhile time.time() < ends_s: pass"

    await run_cell(server, "python3", code)

    answer = ask(server, "GET", "/activity").json()
    (cell,) = answer["cells"]
    assert (cell["number"], cell["title"]) == (1, "ends_s = time.time() + 2")
    assert cell["ended_s"] - cell["began_s"] > 1
    assert "The portal" in {process["name"] for process in answer["processes"]}
    assert answer["advice"] is None, "simulated GPUs compute nothing"
    samples = ask(server, "GET", "/history?since=start").json()["samples"]
    assert len(samples) >= 2
    assert samples[-1]["network_in_mib_s"] is not None


def test_an_open_page_is_no_activity(server: NotebookServer) -> None:
    def last_activity() -> str:
        url = f"{server.host}/user/ada/api/status"
        answer = server.http.get(url, params={"no_track_activity": "1"}, timeout=30)
        return str(answer.json()["last_activity"])

    before = last_activity()

    for path in ("", "?input_age_s=1", "/history", "/history?since=start", "/activity"):
        ask(server, "GET", path).raise_for_status()

    assert last_activity() == before


def test_the_warning_of_slurm_reaches_the_pages(server: NotebookServer) -> None:
    before = ask(server, "GET").json()["clock"]["n_signals"]

    server.process.send_signal(signal.SIGUSR1)

    eventually(lambda: ask(server, "GET").json()["clock"]["n_signals"] == before + 1, timeout_s=5)


def test_a_suspension_is_said_before_the_server_stands_still_and_until_it_is_resumed(
    server: NotebookServer,
) -> None:
    def is_said() -> bool:
        return any("suspended" in text for text in ask(server, "GET").json()["notices"])

    assert not is_said()
    # What Slurm sends to the job, and two seconds later SIGSTOP.
    server.process.send_signal(signal.SIGTSTP)
    eventually(is_said, timeout_s=10)
    server.process.send_signal(signal.SIGSTOP)
    server.process.send_signal(signal.SIGCONT)

    eventually(lambda: not is_said(), timeout_s=10)


def test_an_extension_is_passed_on_with_the_hubs_own_words(
    server: NotebookServer, hub: Hub
) -> None:
    first, second = ask(server, "POST", "/extension"), ask(server, "POST", "/extension")

    assert first.status_code == 200
    assert first.json()["left_s"] > 4000
    assert second.status_code == 409
    assert second.json()["message"] == REFUSAL


def test_the_session_gives_itself_back_through_the_hub(server: NotebookServer, hub: Hub) -> None:
    assert ask(server, "DELETE").status_code == 202

    assert hub.is_ended


@pytest.mark.parametrize("age", ["", "x", "-5", "nan", "inf", "1e400"])
def test_odd_ages_of_input_are_left_out(server: NotebookServer, age: str) -> None:
    assert ask(server, "GET", params={"input_age_s": age}).status_code == 200
