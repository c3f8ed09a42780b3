"""The launcher's cards, a site's further templates, and a template restored with a click."""

import json
import logging
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from dsportal.slurm.errors import OptionsError
from portal.environments.probe import probe_node
from portal.server.templates.cards import list_cards
from portal.server.templates.copies import restore_template
from portal.server.templates.home import Home
from portal.server.templates.kernels import OfferedKernel, parse_packages
from portal.server.templates.source import TemplateSource, template_sources
from portal.server.templates.templates import install_templates
from tests.programs.portal.server.conftest import STAND_IN
from tests.support.notebook_server import NotebookServer

NAME = "tensorflow/digits.ipynb"
NOTEBOOK = {"cells": [{"cell_type": "markdown", "source": ["# Digits\n", "text"]}]}
LOG = logging.getLogger("test_template_cards")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "tensorflow").mkdir(parents=True)
    (folder / NAME).write_text(json.dumps(NOTEBOOK))
    run = {"date": "2026-11-21", "versions": {"tensorflow": "2.21.0"}}
    (folder / "tested.json").write_text(json.dumps({NAME: run}))
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def sources(site: Path) -> tuple[TemplateSource, ...]:
    return (TemplateSource(path=site, below=""),)


def test_a_card_says_title_framework_and_when_it_was_tested(site: Path) -> None:
    (card,) = list_cards(sources(site))

    assert card.as_json() == {
        "name": NAME,
        "path": f"templates/{NAME}",
        "title": "Digits",
        "framework": "TensorFlow",
        "goal": "TensorFlow",
        "tested": "2026-11-21",
        "versions": {"tensorflow": "2.21.0"},
        "written_for": "",
        "kernel": "",
        "advice": "",
    }


GOALS = """
[[goal]]
title = "First steps"
templates = ["start-here.ipynb", "absent.ipynb"]
[[goal]]
title = "Faster"
templates = ["tensorflow/digits.ipynb"]
"""


def test_cards_are_in_the_order_of_the_goals_and_then_of_names(site: Path) -> None:
    (site / "data").mkdir()
    for name in ("start-here.ipynb", "data/shards.ipynb"):
        (site / name).write_text(json.dumps(NOTEBOOK))
    (site / "goals.toml").write_text(GOALS)

    cards = [(card.name, card.goal) for card in list_cards(sources(site))]

    assert cards == [
        ("start-here.ipynb", "First steps"),
        (NAME, "Faster"),
        ("data/shards.ipynb", "Data"),
    ]


@pytest.mark.parametrize("goals", ["[", "goal = 1", "[[goal]]\ntitle = 'x'"])
def test_cards_without_readable_goals_are_in_the_order_of_names(site: Path, goals: str) -> None:
    (site / "goals.toml").write_text(goals)

    assert [card.name for card in list_cards(sources(site))] == [NAME]


def test_cards_that_nothing_runs_here_come_last(site: Path) -> None:
    (site / "first.ipynb").write_text(notebook_of("absent"))

    cards = list_cards(sources(site), {"tensorflow": kernel_with()})

    assert [card.name for card in cards] == [NAME, "first.ipynb"]


def notebook_of(kernel: str, *packages: str) -> str:
    declared = {"portal": {"packages": packages}} if packages else {}
    metadata = {"kernelspec": {"name": kernel}, **declared}
    return json.dumps({**NOTEBOOK, "metadata": metadata})


def kernel_with(*packages: str) -> OfferedKernel:
    return OfferedKernel(program=Path("/v/bin/python"), packages=parse_packages(packages))


def test_a_card_names_the_kernel_that_a_site_lacks(site: Path) -> None:
    (site / NAME).write_text(notebook_of("tensorflow"))

    (lacking,) = list_cards(sources(site), {"site-tf": kernel_with()})
    (card,) = list_cards(sources(site), {"tensorflow": kernel_with()})

    assert lacking.title == "Digits (needs the kernel tensorflow)"
    assert lacking.advice
    assert (card.title, card.advice) == ("Digits", "")


def test_a_card_opens_with_the_kernel_that_has_what_the_template_declares(site: Path) -> None:
    (site / NAME).write_text(notebook_of("tensorflow", "keras>=3"))

    (card,) = list_cards(sources(site), {"site-tf": kernel_with("keras==3.9.1")})
    (lacking,) = list_cards(sources(site), {"site-tf": kernel_with("keras==2.15.0")})

    assert (card.title, card.written_for, card.kernel) == ("Digits", "tensorflow", "site-tf")
    assert (lacking.title, lacking.kernel) == ("Digits (needs keras>=3)", "")


@pytest.mark.parametrize("packages", [[], ["theano"]])
def test_an_optional_notebook_has_a_card_only_where_it_runs(
    site: Path, packages: list[str]
) -> None:
    metadata = {
        "kernelspec": {"name": "theano"},
        "portal": {"packages": packages, "optional": True},
    }
    (site / NAME).write_text(json.dumps({**NOTEBOOK, "metadata": metadata}))

    lacking = list_cards(sources(site), {"r": OfferedKernel(program=Path("/R"), language="R")})
    (card,) = list_cards(sources(site), {"theano": kernel_with("theano==1.0")})

    assert lacking == []
    assert (card.title, card.kernel) == ("Digits", "theano")


@pytest.mark.parametrize(
    ("container", "title"),
    [(None, "Digits (needs Apptainer)"), (Path("/usr/bin/apptainer"), "Digits")],
)
def test_a_container_template_says_where_a_node_starts_no_images(
    site: Path, monkeypatch: pytest.MonkeyPatch, container: Path | None, title: str
) -> None:
    (site / NAME).unlink()
    (site / "containers").mkdir()
    (site / "containers/bare.ipynb").write_text(notebook_of("tensorflow"))
    node = replace(probe_node(), container=container)
    monkeypatch.setattr("portal.server.templates.cards.probe_node", lambda: node)

    (card,) = list_cards(sources(site), {"tensorflow": kernel_with()})

    assert card.title == title
    assert bool(card.advice) == (container is None)


def test_a_notebook_that_is_none_is_shown_by_its_name(site: Path) -> None:
    (site / "start.ipynb").write_text("{")

    assert {card.title for card in list_cards(sources(site))} == {"start", "Digits"}


def test_restoring_keeps_what_was_edited_beside_it(site: Path, home: Path) -> None:
    install_templates(site, home)
    edited = home / "templates" / NAME
    edited.write_text("mine")

    assert restore_template(sources(site), home, NAME) == (
        "templates/tensorflow/digits.edited.ipynb"
    )
    assert json.loads(edited.read_text()) == NOTEBOOK
    assert edited.with_name("digits.edited.ipynb").read_text() == "mine"
    edited.write_text("mine again")
    assert restore_template(sources(site), home, NAME).endswith("digits.edited-2.ipynb")
    assert install_templates(site, home).beside == [], "it counts as written by the site"


def test_restoring_what_was_not_edited_keeps_nothing(site: Path, home: Path) -> None:
    install_templates(site, home)
    (home / "templates" / NAME).unlink()

    assert restore_template(sources(site), home, NAME) == ""
    assert (home / "templates" / NAME).exists()


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "tensorflow/none.ipynb", ""])
def test_only_templates_can_be_restored(site: Path, home: Path, name: str) -> None:
    (site.parent / "secret").write_text("secret")

    with pytest.raises(OptionsError, match="is no template of this site"):
        restore_template(sources(site), home, name)


def test_restoring_follows_no_link_of_the_users(site: Path, home: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("untouched")
    (home / "templates/tensorflow").mkdir(parents=True)
    (home / "templates" / NAME).symlink_to(target)

    with pytest.raises(OptionsError, match="rename what is in the way"):
        restore_template(sources(site), home, NAME)

    assert target.read_text() == "untouched"


@pytest.fixture
def repository(site: Path, tmp_path: Path) -> Path:
    """A git repository with the templates of `site`."""
    folder = tmp_path / "course.git"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(site)]
    for argv in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *argv], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(site), str(folder)], check=True)
    return folder


def told(site_templates: list[str]) -> dict[str, str]:
    return {"PORTAL_SETTINGS": json.dumps({"storage": {"site_templates": site_templates}})}


def test_folders_and_repositories_of_the_site_come_in_folders_of_their_own(
    site: Path, repository: Path, home: Path, tmp_path: Path
) -> None:
    environ = told([str(site), f"file://{repository}"])

    prepared = Home(home, environ, tmp_path / "clones", LOG)
    prepared.prepare()

    assert prepared.problems == []
    for folder in ("site", "course"):
        assert (home / "templates" / folder / NAME).exists()
    cards = list_cards(prepared.sources)
    assert [card.name for card in cards] == [f"site/{NAME}", f"course/{NAME}"]
    (home / "templates/course" / NAME).write_text("mine")
    assert restore_template(prepared.sources, home, f"course/{NAME}") != ""


def test_a_repository_that_cannot_be_had_is_a_sentence(home: Path, tmp_path: Path) -> None:
    environ = told([f"file://{tmp_path}/absent.git"])

    prepared = Home(home, environ, tmp_path / "clones", LOG)
    prepared.prepare()

    assert "could not be fetched" in prepared.problems[0]


def test_a_place_without_a_plain_name_is_left_out(tmp_path: Path) -> None:
    environ = told(["https://h/..", "https://h/a.git", "/srv/b/"])

    found = template_sources(environ, tmp_path)

    assert [source.below for source in found] == ["a", "b"]


def test_the_rest_interface_lists_and_restores(
    tmp_path_factory: pytest.TempPathFactory, site: Path
) -> None:
    environ = {"JUPYTER_NO_CONFIG": "1", "PORTAL_TEMPLATES_DIR": str(site)}
    server = NotebookServer(tmp_path_factory.mktemp("cards"), STAND_IN, environ=environ)
    url = f"{server.host}/user/ada/portal/api/templates"
    try:
        (card,) = server.http.get(url, timeout=10).json()["templates"]
        (server.root / card["path"]).write_text("mine")
        restored = server.http.post(url, json={"name": card["name"]}, timeout=10)
        refused = server.http.post(url, json={"name": 1}, timeout=10)
        body = {"name": card["name"], "kernel": "python3"}
        copied = server.http.post(f"{url}/copies", json=body, timeout=10)
        malformed = server.http.post(f"{url}/copies", json={"kernel": 1}, timeout=10)
        copied_by_a_stranger = requests.post(f"{url}/copies", json=body, timeout=10)
        stranger = requests.post(url, json={"name": card["name"]}, timeout=10)
    finally:
        server.stop()

    assert restored.json() == {"kept": "templates/tensorflow/digits.edited.ipynb"}
    assert (refused.status_code, stranger.status_code) == (400, 403)
    assert copied.json() == {"path": f"work/{NAME}", "beside": ""}
    assert (malformed.status_code, copied_by_a_stranger.status_code) == (400, 403)
    assert (server.root / "work" / NAME).exists()
    assert os.path.exists(server.root / "templates/tensorflow/digits.edited.ipynb")
