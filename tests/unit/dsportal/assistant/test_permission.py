"""What the user is shown and asked, and the log of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from dsportal.assistant.permission import LOG, Permission, RefusedError, note, show


def require(permission: Permission, monkeypatch: pytest.MonkeyPatch, said: object) -> None:
    def answer(_prompt: str) -> str:
        if isinstance(said, Exception):
            raise said
        return str(said)

    monkeypatch.setattr("builtins.input", answer)
    permission.require("run_cell", {"code": "1"})


@pytest.mark.parametrize("said", ["y", "Yes "])
def test_only_a_yes_allows_it(home: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    require(Permission(), monkeypatch, said)


@pytest.mark.parametrize("said", ["", "n", "yeah", "y; rm", EOFError(), RuntimeError("no stdin")])
def test_anything_else_does_not(home: Path, monkeypatch: pytest.MonkeyPatch, said: object) -> None:
    with pytest.raises(RefusedError):
        require(Permission(), monkeypatch, said)


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("a = 1\nb = 2", ["    | a = 1", "    | b = 2"]),
        # A colour, a line that is written over, a turn of the direction, a wide blank.
        ("\x1b[8mx\ry\u202ez\u00a0", ["    | \\x1b[8mx\\ry\\u202ez\\xa0"]),
        ("x" * 150, [f"    | {'x' * 100}", f"    + {'x' * 50}"]),
        # A lone half of a pair.
        (json.loads('"\\ud800"'), ["    | \\ud800"]),
    ],
)
def test_nothing_that_would_run_is_hidden(code: str, lines: list[str]) -> None:
    assert list(show({"code": code}))[1:] == lines


def test_letters_that_look_like_others_are_pointed_at() -> None:
    assert "ASCII" in show({"code": "\u043es.remove(x)"})[0]
    assert "ASCII" not in show({"code": "os.remove(x)"})[0]


def test_what_would_scroll_out_of_sight_is_refused_unasked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda _prompt: "y")

    with pytest.raises(RefusedError, match="60 lines"):
        Permission({"run_cell"}).require("run_cell", {"code": "x = 1\n" * 80})


def test_the_log_says_what_was_asked_and_is_the_users_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RefusedError):
        require(Permission(), monkeypatch, "no")
    require(Permission({"run_cell"}), monkeypatch, "no")

    log = home / LOG
    assert log.stat().st_mode & 0o777 == 0o600
    told: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(one["tool"], one["arguments"], one["became"]) for one in told] == [
        ("run_cell", {"code": "1"}, "no"),
        ("run_cell", {"code": "1"}, "allowed before"),
    ]


def test_without_a_log_nothing_is_done(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / LOG).parent.mkdir(parents=True)
    (home / LOG).symlink_to(home / "elsewhere")

    with pytest.raises(RefusedError, match="cannot be written"):
        require(Permission({"run_cell"}), monkeypatch, "y")
    assert not (home / "elsewhere").exists()


def test_a_log_that_has_grown_makes_room(home: Path) -> None:
    (home / LOG).parent.mkdir(parents=True)
    (home / LOG).write_bytes(b"x" * 4_000_001)

    note("run_cell", {}, "y")

    assert len((home / LOG).read_text().splitlines()) == 1
    assert (home / f"{LOG}.1").stat().st_size == 4_000_001
