"""What a user finds at home when the session starts, also where storage does not answer."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from pathlib import Path

import pytest

from portal.server.base.storage_links import link_storage
from portal.server.templates.home import Home
from tests.support.eventually import eventually

LOG = logging.getLogger("test_home")


@pytest.fixture
def isilon(tmp_path: Path) -> Path:
    folder = tmp_path / "mount" / "isilon"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_the_shared_storage_is_linked(isilon: Path, home: Path) -> None:
    assert link_storage("isilon", isilon, home) == ""
    assert link_storage("isilon", isilon, home) == "", "another session finds it in order"
    assert (home / "isilon").resolve() == isilon


def test_a_storage_that_is_not_mounted_is_reported(home: Path, tmp_path: Path) -> None:
    sentence = link_storage("isilon", tmp_path / "nowhere", home)

    assert sentence.startswith(f"The shared storage, {tmp_path / 'nowhere'}, is not mounted")
    assert not os.path.lexists(home / "isilon")


def test_a_folder_of_the_users_own_is_left_alone(isilon: Path, home: Path) -> None:
    (home / "isilon").mkdir()

    assert "was left alone" in link_storage("isilon", isilon, home)
    assert (home / "isilon").is_dir()
    assert not (home / "isilon").is_symlink()


def test_a_link_of_the_users_own_is_left_alone(isilon: Path, home: Path, tmp_path: Path) -> None:
    (home / "isilon").symlink_to(tmp_path)

    assert "was left alone" in link_storage("isilon", isilon, home)
    assert (home / "isilon").resolve() == tmp_path


def test_a_link_to_a_mount_that_moved_is_set_right(isilon: Path, home: Path) -> None:
    (home / "isilon").symlink_to(isilon.with_name("where-it-was"))

    assert link_storage("isilon", isilon, home) == ""
    assert (home / "isilon").resolve() == isilon


def test_a_home_that_cannot_be_written_gets_a_sentence(isilon: Path) -> None:
    assert "could not be made" in link_storage("isilon", isilon, Path("/proc"))


def test_a_session_finds_templates_and_storage(
    isilon: Path, home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/start.ipynb").touch()
    storage = json.dumps({"isilon": str(isilon), "scratch": str(tmp_path / "site")})
    environ = {"PORTAL_TEMPLATES_DIR": str(tmp_path / "site"), "PORTAL_STORAGE": storage}

    Home(home, environ, tmp_path, LOG).prepare(timeout_s=10)

    assert sorted(path.name for path in home.glob("[!.]*")) == ["isilon", "scratch", "templates"]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_site_without_either_gets_neither(home: Path) -> None:
    Home(home, {}, home, LOG).prepare(timeout_s=10)

    assert list(home.iterdir()) == []


def test_storage_that_hangs_does_not_hold_up_the_session(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers = threading.Event()

    def hang(name: str, mounted: Path, home: Path) -> str:
        answers.wait()
        return "it answered at last"

    monkeypatch.setattr("portal.server.templates.home.link_storage", hang)
    started_s = time.monotonic()

    Home(home, {"PORTAL_STORAGE": '{"isilon": "/mnt/dead"}'}, home, LOG).prepare(timeout_s=0.2)

    assert time.monotonic() - started_s < 2
    assert "gave no answer within 0.2 s. The session starts" in caplog.text
    answers.set()
    eventually(lambda: "it answered at last" in caplog.text, timeout_s=5)
