"""The pages of commands are what the command itself says."""

from __future__ import annotations

from docs import make_commands


def test_the_pages_are_up_to_date() -> None:
    for name, text in make_commands.pages().items():
        page = make_commands.FOLDER / f"{name}.md"
        assert page.read_text() == text, "run docs/make_commands.py"
