"""Kernels by the client of editors, `@jupyterlab/services` in Node, with the token alone."""

import json
import os
import subprocess
from collections.abc import Iterator

import pytest
import requests

from deploy.environments.builder.plan import Plan
from tests.support.portal_client import ADDRESS, PortalClient, sessions_of
from tests.targets import labextension_modules

pytestmark = pytest.mark.cluster

USER = "ada"
# As VS Code's Jupyter extension does it, with the address that its user has pasted.
EDITOR = """
const { ServerConnection, KernelManager, SessionManager } = require("@jupyterlab/services");
const WebSocket = require("ws");

const url = new URL(process.argv[1]);
const token = url.searchParams.get("token");
const baseUrl = url.origin + url.pathname;
const wsUrl = baseUrl.replace("http", "ws");
const serverSettings = ServerConnection.makeSettings(
    { baseUrl, wsUrl, token, appendToken: true, WebSocket });
const kernelManager = new KernelManager({ serverSettings });
const sessions = new SessionManager({ serverSettings, kernelManager });
const said = {};

async function run(kernel, code, onShown = () => {}) {
    let shown = "";
    const future = kernel.requestExecute({ code });
    future.onIOPub = ({ header, content }) => {
        if (header.msg_type === "stream") { shown += content.text; onShown(); }
        if (header.msg_type === "error") shown += content.ename;
    };
    // A kernel that moves answers no more.
    await future.done.catch(() => {});
    return shown.trim();
}

async function main() {
    const about = { name: "a", path: "a.ipynb", type: "notebook", kernel: { name: "python3" } };
    const { kernel } = await sessions.startNew(about);
    const where = "import os; print(os.environ['SLURM_JOB_ID'], globals().get('held'))";
    said.first = await run(kernel, "held = 7; " + where);
    const isBack = new Promise(resolve => kernel.connectionStatusChanged.connect(
        (_, status) => { if (status === "connected") resolve(); }));
    await run(kernel, "%gpu 1");
    await isBack;
    said.moved = await run(kernel, where);
    const sleep = "print('on', flush=True); import time; time.sleep(300)";
    said.interrupted = await run(kernel, sleep, () => kernel.interrupt());
    await kernel.restart();
    said.restarted = await run(kernel, where);
    await kernel.shutdown();
}

main().then(() => console.log(JSON.stringify(said)), console.error).finally(() => process.exit());
"""


@pytest.fixture
def token() -> Iterator[str]:
    client = PortalClient(USER)
    client.login()
    token = client.token()
    client.start(token, gpus=0)
    yield token
    client.stop(token)


def test_an_editor_starts_moves_interrupts_and_restarts_a_kernel(token: str) -> None:
    plan, address = Plan(), f"{ADDRESS}/user/{USER}/?token={token}"

    done = subprocess.run(
        [plan.node_dir / "bin/node", "-e", EDITOR, address],
        env={**os.environ, "NODE_PATH": str(labextension_modules(plan))},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    # The client prints what it does.
    said = json.loads(done.stdout.splitlines()[-1])
    (session,) = sessions_of(USER)
    job, held = said["moved"].split()
    assert said["first"] == f"{session.job_id} 7"
    assert job != str(session.job_id)
    assert held == "7"
    assert said["interrupted"] == "on\nKeyboardInterrupt"
    assert said["restarted"] == f"{job} None"


def test_a_token_in_the_address_of_a_page_logs_nobody_in(token: str) -> None:
    page = f"{ADDRESS}/user/{USER}/api/kernels"

    assert requests.get(page, params={"token": token}, timeout=30).status_code == 403
