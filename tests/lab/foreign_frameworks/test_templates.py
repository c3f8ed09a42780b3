"""Templates in sessions of an installed site, and how long its installation takes.

The portal is installed with frameworks by the administrators' guide, on a cluster of its own. Each
notebook runs as on its page: in a session that its user started at the hub, by the session's REST
interface and the kernel's websocket, through the TLS front end.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.lab.foreign import layout
from tests.lab.foreign.machine import CHECKOUT
from tests.lab.foreign.site import (
    OWN_ENVIRONMENT,
    SHARED,
    URL,
    Site,
    cards_of,
    fetch,
    installed_site,
    start_session,
    xsrf,
)
from tests.support.eventually import eventually

OPTIONS = ("--cpu", "--with-horovod")
NOTEBOOK_TIMEOUT_S = 1800
MOST_S = 30 * 60
REPORT = CHECKOUT / "tests/output/site-times.json"
# One of each folder that runs on this site, the quickest.
TEMPLATES = (
    "start-here.ipynb",
    "data/storage.ipynb",
    "horovod/digits.ipynb",
    "inference/int8.ipynb",
    "keras/backends.ipynb",
    "pytorch/digits.ipynb",
    "scaling/study.ipynb",
    "tensorflow/custom_loop.ipynb",
)
# Folders of templates that need what this site has not.
RARE = {"containers"}


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    is_fresh = request.config.getoption("--fresh")
    with installed_site(*OPTIONS, is_fresh=is_fresh) as site:
        site.follow("Look at everything")
        write_times(site, is_fresh=is_fresh)
        start_session(site, partition="ampere", gpu_type="a100", gpus=2)
        yield site


def write_times(site: Site, *, is_fresh: bool) -> None:
    """Print how long each command of the guide took, and keep it."""
    for step in site.steps:
        print(f"{step.took_s:8.1f} s  {step.section}: {step.what}")
    REPORT.parent.mkdir(exist_ok=True)
    times = {
        "cores": os.cpu_count(),
        "options": OPTIONS,
        "environments": "from the registries" if is_fresh else "of this machine",
        "steps": [asdict(step) for step in site.steps],
    }
    REPORT.write_text(json.dumps(times, indent=1) + "\n")


@pytest.fixture(scope="module")
def token(site: Site) -> str:
    """A token of ada's, as the page of tokens makes it."""
    headers = [f"X-XSRFToken: {xsrf(site, 'ada')}", "Content-Type: application/json"]
    words = [word for header in headers for word in ("-H", header)]
    body = json.dumps({"note": "templates", "expires_in": 7200})
    status, page = fetch(site, "/hub/api/users/ada/tokens", "-d", body, *words, user="ada")
    assert status == 201, page
    return str(json.loads(page.partition("\n")[0])["token"])


def run(site: Site, token: str, name: str, kernel: str) -> dict[str, Any]:
    """Run a template; return its text, its error and the seconds that it took."""
    program = CHECKOUT / "tests/lab/foreign/run_notebook.py"
    python = f"{SHARED}/current/environments/server/bin/python"
    arguments = (f"{URL}/user/ada", str(layout.CA_CERTIFICATE), f"templates/{name}", kernel)
    done = site.machine.run(
        python, "-I", str(program), *arguments, stdin=token, timeout_s=NOTEBOOK_TIMEOUT_S
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{result['seconds']:8.1f} s  {name} in the kernel {kernel}")
    return result


def test_the_commands_of_the_guide_take_less_than_half_an_hour(site: Site) -> None:
    assert sum(step.took_s for step in site.steps) < MOST_S


def test_each_template_of_the_launcher_has_a_kernel_that_runs_it(site: Site) -> None:
    cards = cards_of(site)

    lacking = {Path(name).parent.as_posix() for name, card in cards.items() if card["advice"]}
    assert lacking == RARE
    folders = {Path(name).parent.as_posix() for name in cards}
    assert folders - RARE == {Path(name).parent.as_posix() for name in TEMPLATES}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_runs_to_its_end_in_a_session(site: Site, token: str, name: str) -> None:
    kernel = cards_of(site)[name]["kernel"]

    result = run(site, token, name, kernel)

    assert result["error"] == "", result["text"][-2000:]


def test_a_template_runs_in_the_environment_of_the_site(site: Site, token: str) -> None:
    add = ("dsportal", "environments", "add", "tf", "--site", "--virtualenv", OWN_ENVIRONMENT)
    site.machine.run(*add)
    kernels = "/user/ada/api/kernelspecs"
    eventually(lambda: "site-tf" in fetch(site, kernels, user="ada")[1], timeout_s=60)

    result = run(site, token, "tensorflow/custom_loop.ipynb", "site-tf")

    assert result["error"] == "", result["text"][-2000:]
    assert "Test accuracy: " in result["text"]
