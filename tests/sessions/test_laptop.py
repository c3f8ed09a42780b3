"""The verbs of the portal's program for laptops, as the hub serves it, on the real portal."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.support.laptop import NAME, Laptop
from tests.support.portal_client import PortalClient, sessions_of

pytestmark = pytest.mark.cluster

USER = "ada"
NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "parameters",
            "metadata": {"tags": ["parameters"]},
            "outputs": [],
            "source": "lr = 0.0",
        },
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "train",
            "metadata": {},
            "outputs": [],
            "source": "print('trained with', lr)",
        },
    ],
    "metadata": {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
    },
    "nbformat": 4,
    "nbformat_minor": 5,
}
SCRIPT = """\
import argparse
import os
from pathlib import Path

from dsportal import report
from laptop_script_target import TARGET

parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", type=float)
rate = parser.parse_args().learning_rate
assert Path("laptop-script.py").exists()
print("kernel", os.environ["PORTAL_KERNEL"])
report(step=1, steps=1, loss=(rate - TARGET) ** 2)
"""


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Laptop]:
    with laptop_of(tmp_path) as laptop:
        yield laptop


@contextmanager
def laptop_of(home: Path) -> Iterator[Laptop]:
    client = PortalClient(USER)
    client.login().raise_for_status()
    token = client.token()
    client.stop(token)
    # As the page "Tokens" makes one that may use sessions.
    asked = {"expires_in": 3600, "scopes": ["servers!user", "access:servers!user"]}
    made = client.rest("POST", f"/users/{USER}/tokens", token, json=asked).json()
    laptop = Laptop(home)
    for verb in ("login", "setup"):
        done = laptop.portal(verb, laptop.address, text=f"{made['token']}\n")
        assert done.returncode == 0, done.stderr
    yield laptop
    client.stop(token)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laptop]:
    """A laptop whose user has a session."""
    with laptop_of(tmp_path_factory.mktemp("laptop")) as laptop:
        said(laptop.portal("start", "--gpus", "0"))
        yield laptop


def said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_session_is_started_listed_opened_and_stopped(laptop: Laptop) -> None:
    url = f"{laptop.address}/user/{USER}/"

    assert said(laptop.portal("start", "--gpus", "2", "--hours", "4")) == f"{url}\n"

    (job,) = sessions_of(USER)
    assert job.walltime == "4:00:00"
    assert job.gres.endswith(":2")
    (listed,) = json.loads(said(laptop.portal("list", "--json")))
    assert (listed["state"], listed["url"]) == ("runs", url)
    assert said(laptop.portal("why")) == f"Your session runs: {url}\n"
    assert said(laptop.portal("open", "--print")) == f"{url}\n"
    said(laptop.portal("stop"))
    eventually(lambda: not sessions_of(USER), timeout_s=20)


def test_a_notebook_of_the_laptop_runs_as_a_job_that_is_followed_to_its_end(
    laptop: Laptop,
) -> None:
    name = "laptop-test"
    (laptop.home / "train.ipynb").write_text(json.dumps(NOTEBOOK))
    said(laptop.portal("start", "--gpus", "1"))
    try:
        said(laptop.portal("cp", "train.ipynb", f":{name}.ipynb"))
        order = ("job", "new", "-p", "lr=0.5", f"{name}.ipynb", "--hours", "0.2", "--json")
        queued = [
            json.loads(said(one))["message"]
            for one in (laptop.ssh(NAME, " ".join(("dsportal", *order))), laptop.portal(*order))
        ]
        _, job = (re.findall("is queued as job ([0-9]+) with 1 GPU", told)[0] for told in queued)

        assert "trained with 0.5" in said(laptop.portal("logs", "--follow"))

        rows = json.loads(said(laptop.portal("jobs", "--json")))["rows"]
        (row,) = (row for row in rows if row["job"] and row["job"]["id"] == job)
        assert row["run"]["state"] == "done"
        # The same in the session, which needs no token.
        listed = (laptop.portal("jobs"), laptop.ssh(NAME, "dsportal jobs"))
        there, here = ([line.split()[0] for line in said(one).splitlines()] for one in listed)
        assert job in there
        assert there == here
        assert "trained with 0.5" in said(
            laptop.portal("ssh", "dsportal", "logs", row["run"]["name"])
        )
    finally:
        home = Path(f"/home/{USER}")
        for path in (*home.glob(f"{name}*"), *home.glob(f"portal-runs/*-{name}-*")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_sweep_of_a_notebook_is_followed_to_its_best_point_and_another_one_is_stopped(
    laptop: Laptop,
) -> None:
    name, home = "laptop-sweep", Path(f"/home/{USER}")
    cells = [*NOTEBOOK["cells"][:1], {**NOTEBOOK["cells"][1], "source": "-((lr - 0.3) ** 2)"}]
    (laptop.home / f"{name}.ipynb").write_text(json.dumps({**NOTEBOOK, "cells": cells}))
    said(laptop.portal("start", "--gpus", "0"))
    try:
        said(laptop.portal("cp", f"{name}.ipynb", ":"))
        new = ("sweep", "new", f"{name}.ipynb", "-p", "lr=0.1", "-p", "lr=0.3", "--hours", "0.2")
        told = json.loads(said(laptop.portal(*new, "--as", name, "--json")))
        assert told["name"] == name

        shown = said(laptop.portal("sweep", "show", "--follow", name))

        assert "best so far -0 with lr=0.3" in shown
        rows = json.loads(said(laptop.portal("sweep", "show", "--json", name)))["rows"]
        assert [(row["lr"], row["state"]) for row in rows] == [(0.1, "done"), (0.3, "done")]
        assert (home / f"portal-runs/sweeps/{name}/points/1/{name}-1.ipynb").exists()
        assert "lr=0.3" in said(laptop.ssh(NAME, f"dsportal sweep show {name}"))

        later = ("-p", "lr=1", "--at-once", "1", "--as", f"{name}-2")
        said(laptop.ssh(NAME, " ".join(("dsportal", *new, *later))))
        assert f"{name}-2: Stopped." in said(laptop.portal("sweep", "stop", f"{name}-2"))
        table = ("sweep", "show", "--json", f"{name}-2")
        eventually(lambda: not json.loads(said(laptop.portal(*table)))["is_going_on"], timeout_s=30)
        assert "outside" in laptop.portal("sweep", "new", "../x.ipynb", "-p", "lr=1").stderr
    finally:
        for path in (*home.glob(f"{name}*"), *home.glob(f"portal-runs/sweeps/{name}*")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_sweep_of_a_script_runs_in_the_kernel_that_it_names_and_finds_the_least_loss(
    laptop: Laptop,
) -> None:
    name, home = "laptop-script", Path(f"/home/{USER}")
    (laptop.home / f"{name}.py").write_text(SCRIPT)
    (laptop.home / "laptop_script_target.py").write_text("TARGET = 0.3\n")
    said(laptop.portal("start", "--gpus", "0"))
    try:
        said(laptop.portal("cp", f"{name}.py", "laptop_script_target.py", ":"))
        order = ("sweep", "new", f"{name}.py", "-p", "learning-rate=0.1", "-p", "learning-rate=0.3")
        assert "pytorch" in laptop.portal(*order).stderr

        new = (*order, "--kernel", "pytorch", "--hours", "0.2", "--as", name)
        said(laptop.portal(*new))

        assert "best so far 0 with learning-rate=0.3" in said(
            laptop.portal("sweep", "show", "--follow", name)
        )
        rows = json.loads(said(laptop.portal("sweep", "show", "--json", name)))["rows"]
        assert [(row["learning-rate"], row["state"]) for row in rows] == [
            (0.1, "done"),
            (0.3, "done"),
        ]
        assert "kernel pytorch" in Path(rows[0]["log"]).read_text()
        # It continues by its name, from the session, too: nothing is left to run.
        assert "none is started" in said(laptop.ssh(NAME, " ".join(("dsportal", *new))))
    finally:
        for path in (
            *home.glob(f"{name}*"),
            *home.glob("laptop_script_target*"),
            *home.glob("__pycache__/laptop_script_target*"),
            *home.glob(f"portal-runs/sweeps/{name}*"),
        ):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("words", [("list", "--json"), ("why",), ("open", "--print"), ("gpu",)])
def test_a_verb_says_in_a_terminal_of_the_session_what_it_says_on_the_laptop(
    running: Laptop, words: tuple[str, ...]
) -> None:
    here, there = running.portal(*words), running.ssh(NAME, " ".join(("dsportal", *words)))

    assert (there.returncode, there.stderr) == (here.returncode, here.stderr)
    # The demo has no address of its own that its sessions could know.
    assert there.stdout == here.stdout.replace(running.address, "")
    assert here.stdout or here.stderr
