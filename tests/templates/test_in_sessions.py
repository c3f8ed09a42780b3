"""A template for each kernel in a session of the portal, run through hub, proxy and server."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.lab.foreign.run_notebook import Session, run_cell, run_notebook
from tests.support.portal_client import ADDRESS, PortalClient
from tests.templates.notebooks import TEMPLATES

pytestmark = [pytest.mark.cluster, pytest.mark.release]

USER = "grace"
# The quickest of each kernel.
NAMES = ("r/digits.ipynb", "inference/int8.ipynb", "start-here.ipynb")
# Kernels without a template.
BARE_KERNELS = {"python3"}


def kernel_of(name: str) -> str:
    notebook = json.loads((TEMPLATES / name).read_text())
    return str(notebook["metadata"]["kernelspec"]["name"])


@pytest.fixture(scope="module")
def portal_session() -> Iterator[Session]:
    """A session that its user started at the hub."""
    client = PortalClient(USER)
    client.login()
    token = client.token()
    client.stop(token)
    client.start(token, gpus=1)
    try:
        yield Session(f"{ADDRESS}/user/{USER}", "", token)
    finally:
        client.stop(token)


def test_each_kernel_of_the_launcher_has_a_template_that_is_tried_here(
    portal_session: Session,
) -> None:
    offered = portal_session.ask("GET", "api/kernelspecs")["kernelspecs"]

    assert {kernel_of(name) for name in NAMES} == set(offered) - BARE_KERNELS


@pytest.mark.parametrize("name", NAMES)
async def test_a_template_runs_to_its_end_in_a_session(portal_session: Session, name: str) -> None:
    done = await run_notebook(portal_session, f"templates/{name}", kernel_of(name))

    assert done["error"] == "", done["text"][-2000:]
    assert "Test accuracy: " in done["text"]


async def test_a_worker_is_on_the_dashboard_of_dask_that_opens_through_the_session(
    portal_session: Session,
) -> None:
    path = "templates/dask/on_slurm.ipynb"
    kernel = {"name": kernel_of("dask/on_slurm.ipynb")}
    opened = portal_session.ask(
        "POST", "api/sessions", {"path": path, "name": path, "type": "notebook", "kernel": kernel}
    )
    text = ""
    try:
        socket = await portal_session.connect(opened["kernel"]["id"])
        for cell in json.loads((TEMPLATES / "dask/on_slurm.ipynb").read_text())["cells"]:
            if cell["cell_type"] == "code" and "Workers after" not in text:
                more, error = await run_cell(socket, "".join(cell["source"]))
                assert error == ""
                text += more
        link = re.search(rf"^Dashboard: /user/{USER}/(port/\d+)/status$", text, re.MULTILINE)
        assert link is not None, text
        shown = portal_session.ask("GET", f"{link[1]}/json/identity.json")
        assert f"Scheduler: {shown['address']}\n" in text
        assert len(shown["workers"]) == 1
        socket.close()
    finally:
        portal_session.ask("DELETE", f"api/sessions/{opened['id']}")
