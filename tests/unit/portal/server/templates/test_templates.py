"""What happens to templates in a home over several releases and edits."""

import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from portal.server.templates import templates
from portal.server.templates.templates import (
    MOST_TEMPLATE_BYTES,
    NOT_TEMPLATES,
    RECORD_PATH,
    Outcome,
    install_templates,
)

NAME = "tensorflow/digits.ipynb"


class Site:
    """A site's templates and one user's home."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "site"
        self.home = folder / "home"
        self.home.mkdir()
        self.release("first")

    def release(self, content: str, name: str = NAME) -> None:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def edit(self, content: str, name: str = NAME) -> None:
        (self.home / "templates" / name).write_text(content)

    def start_session(self) -> Outcome:
        return install_templates(self.source, self.home)

    def files(self) -> dict[str, str]:
        templates = self.home / "templates"
        return {
            str(path.relative_to(templates)): path.read_text()
            for path in sorted(templates.rglob("*"))
            if path.is_file()
        }


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_the_first_session_finds_the_templates(site: Site) -> None:
    site.release("helper", "tensorflow/plots.py")

    outcome = site.start_session()

    assert site.files() == {NAME: "first", "tensorflow/plots.py": "helper"}
    assert outcome.problems == []
    assert list(outcome.notes()) == ["Copied 2 files to templates."]


def test_another_session_changes_nothing_and_says_nothing(site: Site) -> None:
    site.start_session()
    before = (site.home / "templates" / NAME).stat().st_mtime_ns

    outcome = site.start_session()

    assert list(outcome.notes()) == outcome.problems == []
    assert (site.home / "templates" / NAME).stat().st_mtime_ns == before


def test_a_new_release_replaces_a_template_that_was_not_edited(site: Site) -> None:
    site.start_session()
    site.release("second")

    site.start_session()

    assert site.files() == {NAME: "second"}


def test_a_new_release_comes_beside_a_template_that_was_edited(site: Site) -> None:
    site.start_session()
    site.edit("mine")
    site.release("second")

    outcome = site.start_session()

    assert site.files() == {NAME: "mine", "tensorflow/digits.new.ipynb": "second"}
    assert list(outcome.notes()) == [
        "templates/tensorflow/digits.new.ipynb is the new release of a template that you edited."
    ]


def notebook(code: str, output: str = "", **metadata: str) -> str:
    outputs = [{"output_type": "stream", "name": "stdout", "text": [output]}] if output else []
    cell = {"cell_type": "code", "metadata": {}, "outputs": outputs, "source": [code]}
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4})


def test_a_new_release_replaces_a_notebook_that_was_only_run(site: Site) -> None:
    site.release(notebook("first"))
    site.start_session()
    site.edit(notebook("first", output="done", version="3.11"))
    site.release(notebook("second"))

    outcome = site.start_session()

    assert site.files() == {NAME: notebook("second")}
    assert outcome.beside == []


def test_a_notebook_that_was_only_run_keeps_its_outputs(site: Site) -> None:
    site.release(notebook("first"))
    site.start_session()
    site.edit(notebook("first", output="done"))

    outcome = site.start_session()

    assert site.files() == {NAME: notebook("first", output="done")}
    assert list(outcome.notes()) == []


def test_an_edit_alone_brings_nothing_beside_it(site: Site) -> None:
    site.start_session()
    site.edit("mine")

    site.start_session()

    assert site.files() == {NAME: "mine"}


def test_a_release_is_offered_beside_an_edit_once(site: Site) -> None:
    site.start_session()
    site.edit("mine")
    site.release("second")
    site.start_session()
    (site.home / "templates/tensorflow/digits.new.ipynb").unlink()

    outcome = site.start_session()

    assert site.files() == {NAME: "mine"}
    assert list(outcome.notes()) == []


def test_a_third_release_replaces_the_second_one_beside_an_edit(site: Site) -> None:
    site.start_session()
    site.edit("mine")
    for content in ("second", "third"):
        site.release(content)
        site.start_session()

    assert site.files() == {NAME: "mine", "tensorflow/digits.new.ipynb": "third"}


def test_an_edited_offer_is_not_overwritten_either(site: Site) -> None:
    site.start_session()
    site.edit("mine")
    site.release("second")
    site.start_session()
    site.edit("mine too", "tensorflow/digits.new.ipynb")
    site.release("third")

    site.start_session()

    assert site.files() == {
        NAME: "mine",
        "tensorflow/digits.new.ipynb": "mine too",
        "tensorflow/digits.new-2.ipynb": "third",
    }


def test_an_edit_that_equals_the_new_release_counts_as_not_edited(site: Site) -> None:
    site.start_session()
    site.edit("second")
    site.release("second")
    site.start_session()
    site.release("third")

    site.start_session()

    assert site.files() == {NAME: "third"}


def test_a_deleted_template_comes_back(site: Site) -> None:
    site.start_session()
    (site.home / "templates" / NAME).unlink()

    site.start_session()

    assert site.files() == {NAME: "first"}


@pytest.mark.parametrize("record", [None, "", "[]", '{"a": 1}', '{"a": {"b": 1}}', "\0"])
def test_without_a_record_nothing_is_overwritten(site: Site, record: str | None) -> None:
    site.start_session()
    site.edit("mine")
    path = site.home / RECORD_PATH
    if record is None:
        path.unlink()
    else:
        path.write_text(record)

    site.start_session()

    assert site.files() == {NAME: "mine", "tensorflow/digits.new.ipynb": "first"}


def test_files_that_are_no_templates_are_left_out(site: Site) -> None:
    for name in NOT_TEMPLATES:
        site.release("", name)
    site.release("x", "tensorflow/__pycache__/plots.pyc")
    site.release("x", "tensorflow/.ipynb_checkpoints/digits.ipynb")

    site.start_session()

    assert site.files() == {NAME: "first"}


def test_a_link_in_the_place_of_a_template_is_not_followed(site: Site, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (site.home / "templates/tensorflow").mkdir(parents=True)
    (site.home / "templates" / NAME).symlink_to(victim)

    outcome = site.start_session()

    assert victim.read_text() == "precious"
    assert "digits.ipynb is not a plain file" in outcome.problems[0]


@pytest.mark.parametrize("link", ["templates", "templates/tensorflow"])
def test_a_link_in_the_place_of_a_folder_is_not_followed(
    site: Site, tmp_path: Path, link: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (site.home / link).parent.mkdir(exist_ok=True)
    (site.home / link).symlink_to(elsewhere)

    outcome = site.start_session()

    assert list(elsewhere.iterdir()) == []
    assert "is not a folder but a link or a file" in outcome.problems[0]


def test_a_link_in_the_place_of_an_offer_is_not_followed(site: Site, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    site.start_session()
    site.edit("mine")
    (site.home / "templates/tensorflow/digits.new.ipynb").symlink_to(victim)
    site.release("second")

    site.start_session()

    assert victim.read_text() == "precious"
    assert site.files()["tensorflow/digits.new-2.ipynb"] == "second"


def test_a_pipe_in_the_place_of_a_template_does_not_block(site: Site) -> None:
    (site.home / "templates/tensorflow").mkdir(parents=True)
    os.mkfifo(site.home / "templates" / NAME)

    outcome = site.start_session()

    assert "is not a plain file" in outcome.problems[0]


@pytest.mark.parametrize("kind", ["pipe", "link", "link to a folder", "link inside", "large"])
def test_what_is_no_plain_file_of_the_site_is_not_copied_and_stops_nothing(
    site: Site, tmp_path: Path, kind: str
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("of the user")
    odd = site.source / "tensorflow/a.txt"
    match kind:
        case "pipe":
            os.mkfifo(odd)
        case "link":
            odd.symlink_to(secret / "key.txt")
        case "link to a folder":
            odd.symlink_to(secret)
        case "link inside":
            odd.symlink_to("digits.ipynb")
        case "large":
            with odd.open("wb") as file:
                file.truncate(MOST_TEMPLATE_BYTES + 1)

    outcome = site.start_session()

    assert site.files() == {NAME: "first"}
    assert "The site's template tensorflow/a.txt was not copied" in outcome.problems[0]


def test_a_file_that_is_swapped_for_a_link_meanwhile_is_not_followed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the user")
    read = templates.read_plain

    def swap_and_read(name: str, *args: Any, **kwargs: Any) -> bytes | None:
        (site.source / NAME).unlink()
        (site.source / NAME).symlink_to(secret)
        return read(name, *args, **kwargs)

    monkeypatch.setattr(templates, "read_plain", swap_and_read)

    assert "was not copied" in site.start_session().problems[0]
    assert site.files() == {}


def test_other_templates_come_although_one_is_in_the_way(site: Site) -> None:
    site.release("other", "horovod/digits.ipynb")
    site.home.joinpath("templates").mkdir()
    site.home.joinpath("templates/horovod").touch()

    outcome = site.start_session()

    assert site.files()[NAME] == "first"
    assert len(outcome.problems) == 1


@contextmanager
def no_room() -> Iterator[None]:
    """Let no file of this process grow beyond 4 bytes, as a full file system would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_home_gets_a_sentence_and_no_half_file(site: Site) -> None:
    with no_room():
        outcome = site.start_session()

    assert "Make room, or rename what is in the way" in outcome.problems[0]
    assert site.files() == {}


def test_a_full_home_keeps_the_old_release_whole(site: Site) -> None:
    site.start_session()
    site.release("second")

    with no_room():
        site.start_session()

    assert site.files() == {NAME: "first"}


def test_a_home_that_cannot_be_written_gets_a_sentence(site: Site) -> None:
    outcome = install_templates(site.source, Path("/proc"))

    assert "could not all be copied to /proc/templates" in outcome.problems[0]


def test_a_site_without_templates_is_reported(site: Site, tmp_path: Path) -> None:
    outcome = install_templates(tmp_path / "nowhere", site.home)

    assert "nowhere, are not on this node" in outcome.problems[0]
    assert not site.home.joinpath("templates").exists()


def test_a_hundred_templates_take_less_than_three_tenths_of_a_second(site: Site) -> None:
    for n in range(100):
        site.release(f"{n}" * 50_000, f"many/{n}.ipynb")
    site.start_session()

    started_s = time.process_time()
    site.start_session()

    assert time.process_time() - started_s < 0.3
