"""What terminals of ssh are told."""

import os
import pty
from pathlib import Path
from typing import Any

from portal.server.ssh.terminal_warnings import Warnings, write_to_terminals


def seen(left_s: int | None, state: str = "used", ends_in_s: int | None = None) -> dict[str, Any]:
    return {
        "clock": {"left_s": left_s, "warnings_s": (1800, 900, 300)},
        "idle": {"state": state, "ends_in_s": ends_in_s},
    }


def test_each_warning_is_given_once() -> None:
    warnings = Warnings()

    said = [warnings.take(seen(left_s)) for left_s in (3600, 1801, 1795, 1780, 905, 890, 100, 90)]

    assert [index for index, text in enumerate(said) if text] == [2, 5, 6]
    assert said[2] == "This session ends in 29 min. Save your work."


def test_who_comes_after_a_warning_has_read_the_time_already() -> None:
    assert Warnings().take(seen(600)) == ""


def test_an_extended_session_warns_again() -> None:
    warnings = Warnings()
    said = [bool(warnings.take(seen(left_s))) for left_s in (310, 290, 4000, 1700, None, 1600)]

    assert said == [False, True, False, True, False, False]


def test_an_idle_session_says_so_once_until_it_is_used() -> None:
    warnings = Warnings()
    said = [
        warnings.take(seen(None, state, 900))
        for state in ("used", "warned", "warned", "saving", "used", "warned")
    ]

    assert [bool(text) for text in said] == [False, True, False, False, False, True]
    assert "stops in 15 min unless somebody works in it" in said[1]


def test_a_line_reaches_each_terminal_and_ended_logins_are_forgotten(tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    try:
        (tmp_path / str(os.getpid())).write_text(os.ttyname(terminal))
        # No process has this id: it is beyond the largest that the kernel gives.
        (tmp_path / str(2**22 + 1)).write_text(os.ttyname(terminal))

        write_to_terminals(tmp_path, "This session ends.")

        assert b"*** This session ends." in os.read(screen, 100)
    finally:
        os.close(terminal)
        os.close(screen)
    assert [path.name for path in tmp_path.iterdir()] == [str(os.getpid())]


def test_a_terminal_that_is_gone_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / str(os.getpid())).write_text("/dev/pts/none")

    write_to_terminals(tmp_path, "This session ends.")
