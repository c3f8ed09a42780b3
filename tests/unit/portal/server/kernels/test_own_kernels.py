"""A user's own kernels that have the name of a shipped one."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from portal.server.kernels.own_kernels import offer_own_kernels

OLD: dict[str, Any] = {"argv": [sys.executable, "-m", "x"], "display_name": "Old Python 3"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("python3", "ir"):
        folder = tmp_path / "shipped" / name
        folder.mkdir(parents=True)
        folder.joinpath("kernel.json").touch()
    return tmp_path


def offer(home: Path, name: str, text: str) -> tuple[list[str], dict[str, Any]]:
    folder = home / "own" / name
    folder.mkdir(parents=True)
    folder.joinpath("kernel.json").write_text(text)
    folder.joinpath("logo-64x64.png").touch()
    problems = offer_own_kernels(
        home / "offered",
        own=home / "own",
        shipped=home / "shipped",
        log=logging.getLogger("test"),
    )
    offered = {
        path.parent.name: json.loads(path.read_text())
        for path in home.glob("offered/*/kernel.json")
    }
    return problems, offered


def test_it_is_offered_under_a_name_of_its_own(home: Path) -> None:
    problems, offered = offer(home, "python3", json.dumps(OLD))

    assert problems == []
    assert offered == {"python3-yours": OLD | {"display_name": "Old Python 3 (yours)"}}
    assert (home / "offered/python3-yours/logo-64x64.png").is_file()


def test_one_with_a_name_that_is_free_is_left_to_jupyter(home: Path) -> None:
    assert offer(home, "mine", json.dumps(OLD)) == ([], {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps(OLD | {"argv": ["/gone/bin/python"]}), "/gone/bin/python, is not there"),
        (json.dumps(OLD | {"argv": []}), "names no program"),
        ("[]", "names no program"),
    ],
)
def test_one_that_cannot_start_is_left_out_with_the_reason(
    home: Path, text: str, words: str
) -> None:
    (problem,), offered = offer(home, "python3", text)

    assert words in problem
    assert f"rm -r {home}/own/python3" in problem
    assert offered == {}


def test_one_that_cannot_be_read_does_no_harm(home: Path) -> None:
    assert offer(home, "python3", "{broken") == ([], {})
