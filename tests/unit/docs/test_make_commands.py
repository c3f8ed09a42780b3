"""The pages of commands are what the command itself says."""

from docs import make_commands


def test_the_pages_are_up_to_date() -> None:
    for name, text in make_commands.pages().items():
        page = make_commands.FOLDER / f"{name}.md"
        assert page.read_text() == text, "run docs/make_commands.py"


def test_the_man_page_is_up_to_date() -> None:
    text = make_commands.man_page(make_commands.build_laptop_parser())

    assert make_commands.MAN_PAGE.read_text() == text, "run docs/make_commands.py"
