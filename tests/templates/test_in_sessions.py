"""A template for each kernel in a session of the portal, run through hub, proxy and server."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.lab.foreign.run_notebook import Session, run_notebook
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
