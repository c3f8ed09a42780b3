"""The spawner alone, in a JupyterHub of a site that has batchspawner, by its page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.alone.own_hub import (
    ACCOUNT,
    OwnHub,
    built_wheels,
    install,
    make_account,
    make_environment,
    queue,
)
from tests.lab.alone.page import commands_of
from tests.lab.foreign import layout
from tests.lab.foreign.machine import Machine, install_packages
from tests.support.eventually import eventually

LAUNCHER = "/opt/data-scientist-portal/libexec/dsportal-launcher"
SESSION_TIMEOUT_S = 180
# What many a site has for links to courses, web tools and comparisons of notebooks. A session
# answers another status than 404 where they are loaded.
OF_THE_SITE = ("nbgitpuller", "jupyter-server-proxy", "nbdime", "jupyterlab-git")
ROUTES = ("git-pull", "proxy/1/", "nbdime/api/isgit", "git/settings")


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    machine = Machine()
    try:
        install_packages(machine)
        machine.run("/usr/bin/python3", "-B", "-m", "tests.lab.foreign.cluster")
        make_account(machine)
        yield machine
    finally:
        machine.close()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return built_wheels(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module", params=["5", "6"], ids=["jupyterhub5", "jupyterhub6"])
def hub(request: pytest.FixtureRequest, machine: Machine, wheels: list[Path]) -> Iterator[OwnHub]:
    version = f"jupyterhub>={request.param},<{int(request.param) + 1}"
    folder = f"/srv/jupyterhub{request.param}"
    notebooks = f"{layout.SOFTWARE_DIR}/notebooks{request.param}"
    copies = {f"./{wheel.name}": f"{layout.SOFTWARE_DIR}/{wheel.name}" for wheel in wheels}
    for wheel in wheels:
        (machine.root / copies[f"./{wheel.name}"].lstrip("/")).write_bytes(wheel.read_bytes())
    make_environment(machine, f"{folder}/venv", version, "batchspawner")
    make_environment(machine, notebooks, version, "batchspawner", "jupyterlab", *OF_THE_SITE)
    values = {
        "/srv/jupyterhub": folder,
        "/shared/notebooks": notebooks,
        **copies,
        "users": layout.UNIX_GROUP,
        "gpu": "volta",
    }
    hub = OwnHub(machine, folder, values)
    try:
        yield hub
    finally:
        hub.stop()
        machine.run("scancel", "--user=ada", is_checked=False)
        # The next hub is on the same cluster, and a second time the page's command has status 1.
        machine.run("sacctmgr", "-i", "delete", "user", ACCOUNT, is_checked=False)
        machine.run("rm", "-rf", "/opt/data-scientist-portal", is_checked=False)


def start_session(hub: OwnHub) -> None:
    status, text = hub.rest("POST", "/users/ada/server")
    assert status in {201, 202}, text
    hub.log_in("ada")
    eventually(lambda: hub.lab_page("ada"), timeout_s=SESSION_TIMEOUT_S, every_s=1)


def test_batchspawner_runs_a_session_before(hub: OwnHub) -> None:
    hub.start("batchspawner")

    hub.rest("POST", "/users/ada")
    start_session(hub)

    assert [job[:3] for job in queue(hub.machine)] == [["ada", "spawner-jupyterhub", "RUNNING"]]


def test_the_package_is_installed_beside_the_hub_that_runs(hub: OwnHub) -> None:
    spawner, session, launcher, operator = commands_of("Install", hub.values)

    install(hub.machine, spawner)
    said = install(hub.machine, session)

    assert re.search(
        r"^Successfully installed data.scientist.portal-[\d.]+ dsportal-[\d.]+$", said, re.MULTILINE
    ), said
    assert hub.lab_page("ada"), "the running session is left alone"
    hub.stop()
    hub.start("slurm-gpu")
    assert f"No session can start. {LAUNCHER} is missing." in hub.log
    hub.stop()
    for command in (launcher, operator):
        hub.machine.run("sh", "-c", command)


def test_jobs_of_batchspawner_are_cancelled_as_the_page_says(hub: OwnHub) -> None:
    assert [job[1] for job in queue(hub.machine)] == ["spawner-jupyterhub"]

    for command in commands_of("Stop the hub", hub.values):
        hub.machine.run("sh", "-c", command)

    eventually(lambda: queue(hub.machine) == [], timeout_s=60)


def test_the_hub_says_at_its_start_that_nothing_is_missing(hub: OwnHub) -> None:
    hub.start("slurm-gpu")

    assert "No session can start" not in hub.log
    assert "is set and not used" not in hub.log
    assert not hub.server("ada").get("ready")


def test_what_the_site_has_is_as_it_was(hub: OwnHub) -> None:
    assert "a page of the site's own" in hub.fetch("/hub/own")[1]
    status, text = hub.rest("GET", "/users")
    assert status == 200
    assert {user["name"] for user in json.loads(text)} == {"ada", "grace"}
    hub.log_in("ada")
    status, page = hub.fetch("/hub/home", user="ada")
    assert status == 200
    assert "The institute's own header" in page


def test_the_form_stands_in_the_sites_own_page(hub: OwnHub) -> None:
    status, page = hub.fetch("/hub/spawn/ada", user="ada")

    assert status == 200
    assert "The institute's own header" in page
    assert "How many GPUs" in page
    style = page.split("portal/static/portal.css?v=")[1].partition('"')[0]
    assert f'href="/jupyter/hub/portal/static/portal.css?v={style}"' in page
    assert hub.fetch(f"/hub/portal/static/portal.css?v={style}")[0] == 200
    status, choices = hub.fetch("/hub/portal/choices/ada?gpus=1", user="ada")
    assert status == 200
    assert [choice["n_gpus"] for choice in json.loads(choices)["choices"]][:2] == [0, 1]


@pytest.mark.parametrize("path", ["/hub/spawn/ada", "/hub/portal/choices/ada?gpus=1"])
def test_no_browser_keeps_the_form(hub: OwnHub, path: str) -> None:
    status, answer = hub.fetch(path, "--include", user="ada")

    assert status == 200
    assert "cache-control: no-store" in answer.lower()


def test_the_form_starts_a_session_with_its_gpus(hub: OwnHub) -> None:
    form = ("-F", "gpus=2")
    status, page = hub.fetch(f"/hub/spawn/ada?_xsrf={hub.xsrf('ada')}", *form, user="ada")
    assert status == 200, page

    eventually(lambda: hub.lab_page("ada"), timeout_s=SESSION_TIMEOUT_S, every_s=1)

    ((user, name, state, gpus),) = queue(hub.machine)
    assert (user, state) == ("ada", "RUNNING")
    assert name.startswith("dsportal-")
    assert gpus.endswith("gpu:2")


@pytest.mark.parametrize("path", ROUTES)
def test_extensions_of_the_sites_jupyter_work_in_a_session(hub: OwnHub, path: str) -> None:
    status, page = hub.fetch(f"/user/ada/{path}", user="ada")

    assert status not in {0, 404}, page


def test_a_session_outlives_a_restart_of_the_hub(hub: OwnHub) -> None:
    jobs = queue(hub.machine)

    hub.stop()
    hub.start("slurm-gpu")

    assert queue(hub.machine) == jobs
    hub.log_in("ada")
    assert eventually(lambda: hub.lab_page("ada"), timeout_s=60, every_s=1)


def test_a_choice_that_is_not_there_is_refused_with_its_reason(hub: OwnHub) -> None:
    hub.rest("POST", "/users/grace")

    status, text = hub.rest("POST", "/users/grace/server", {"gpus": 9})

    assert status == 400
    assert "9 GPUs" in json.loads(text)["message"]


def test_a_session_is_stopped(hub: OwnHub) -> None:
    status, text = hub.rest("DELETE", "/users/ada/server")
    assert status in {202, 204}, text

    eventually(lambda: queue(hub.machine) == [], timeout_s=60)
