"""`%ask` in a session of the real portal: its tools are the session's own, with its limits."""

import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from dsportal.diagnosis import Situation, explain_waiting
from dsportal.diagnosis.messages import JOB
from spawner.session.queue_status import QUEUE_PLACE
from tests.sessions.test_laptop import NOTEBOOK
from tests.support.eventually import eventually_async
from tests.support.kernels import ask, connect, run_over
from tests.support.portal_client import UserSession
from tests.support.websockets import close_websocket

pytestmark = pytest.mark.cluster

USER = "ada"
NAME = "assistant-test"
ORDER = {"notebook": f"{NAME}.ipynb", "hours": 0.2}
Told = Callable[..., Awaitable[str]]
WAITS_FOR_OTHERS = "|".join(
    re.escape(explain_waiting(reason, Situation(subject=JOB)).sentence)
    for reason in ("Resources", "Priority")
)
# In the kernel itself, since nodes have a network of their own.
MODEL = """
import http.server, json, os, threading
asked, answers = [], []

class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()
        # It answers with what a tool has told it.
        delta = {"content": asked[-1]["messages"][-1]["content"]}
        if asked[-1]["messages"][-1]["role"] == "user":
            delta = {"tool_calls": [{"index": 0, "id": "1", "function": answers.pop(0)}]}
        self.wfile.write(b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode())
    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["PORTAL_ASSISTANT_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
os.environ["PORTAL_ASSISTANT_MODEL"], os.environ["PORTAL_ASSISTANT_TOOLS"] = "small", "1"
from dsportal.start.ask_line import register_magic
register_magic(get_ipython())
"""


@pytest.fixture
def session() -> Iterator[UserSession]:
    session = UserSession(USER)
    session.client.stop(session.token)
    session.client.start(session.token, gpus=0)
    yield session
    subprocess.run(["scancel", "--user", USER, "--state", "PENDING"], check=True)
    session.client.stop(session.token)
    home = Path(f"/home/{USER}")
    for path in (*home.glob(f"{NAME}*"), *home.glob(f"portal-runs/*-{NAME}-*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
async def told(session: UserSession) -> AsyncIterator[Told]:
    """What `%ask` shows once its model has asked for a tool, in a session with a notebook."""
    notebook = {"type": "notebook", "format": "json", "content": NOTEBOOK}
    ask(session, "PUT", f"api/contents/{NAME}.ipynb", json=notebook)
    socket = await connect(session, ask(session, "POST", "api/kernels", json={})["id"])
    await run_over(socket, MODEL)

    async def told(tool: str, **arguments: object) -> str:
        call = {"name": tool, "arguments": json.dumps(arguments)}
        await run_over(socket, f"answers.append({call!r})")
        return await run_over(socket, "%ask do it")

    # Nobody answers here.
    assert "did not allow" in await told("list_jobs")
    await run_over(socket, "%ask --allow submit_job list_jobs job_output")
    yield told
    await close_websocket(socket)


async def test_a_model_is_told_why_a_job_waits_and_its_place_in_the_queue(
    told: Told, full_cluster: None
) -> None:
    (job,) = re.findall("is queued as job ([0-9]+)", await told("submit_job", **ORDER))

    async def is_explained() -> bool:
        lines = (await told("list_jobs")).splitlines()
        (row,) = (line for line in lines if line.startswith(job))
        return bool(re.search(WAITS_FOR_OTHERS, row)) and QUEUE_PLACE in row

    await eventually_async(is_explained, timeout_s=60)


async def test_a_model_that_may_queues_a_notebook_and_reads_its_output(told: Told) -> None:
    assert "[not done: dsportal: You asked for" in await told("submit_job", **ORDER, gpus=99)
    assert "is queued as job" in await told("submit_job", **ORDER)
    assert NAME in await told("list_jobs")

    async def has_trained() -> bool:
        return "trained with 0.0" in await told("job_output")

    # Jobs of the tests before may still be on their way out.
    await eventually_async(has_trained, timeout_s=180)
