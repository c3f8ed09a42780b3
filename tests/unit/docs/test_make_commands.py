"""The page of commands is what the command itself says."""

from __future__ import annotations

from docs import make_commands


def test_the_page_is_up_to_date() -> None:
    assert make_commands.PAGE.read_text() == make_commands.page(), "run docs/make_commands.py"
