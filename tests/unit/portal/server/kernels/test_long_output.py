"""Of a cell that prints much, a page gets the beginning, the end, and how much is between."""

import pytest

from portal.server.kernels import long_output
from portal.server.kernels.long_output import LongOutput, Message


class Page:
    """What a page shows of the messages that it is sent."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.text = LongOutput("cell", lambda: self.now_s)
        self.outputs: list[str] = []
        self.n_messages = 0
        self._drawn = 0

    def say(self, text: str, kind: str = "stream") -> None:
        self.show(self.text.take(kind, {"name": "stdout", "text": text}, {}))

    def show(self, messages: list[Message]) -> None:
        for message in messages:
            self.n_messages += 1
            content = message["content"]
            if message["msg_type"] == "clear_output":
                self.outputs = []
            elif message["msg_type"] == "display_data":
                self._drawn = len(self.outputs)
                self.outputs.append(content["data"]["text/plain"])
            elif message["msg_type"] == "update_display_data":
                self.outputs[self._drawn] = content["data"]["text/plain"]
            else:
                self.outputs.append(content["text"])

    def end(self) -> list[str]:
        self.show(self.text.end())
        return self.outputs


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_output, "HALF_BYTES", 100)
    monkeypatch.setattr(long_output, "_DRAWN_BYTES", 20)


@pytest.fixture
def page() -> Page:
    return Page()


def test_what_is_not_long_is_sent_as_it_comes(page: Page) -> None:
    page.say("é" * 20)
    page.say("b\n")

    assert page.end() == ["é" * 20, "b\n"]


@pytest.mark.parametrize("size", [7, 100, 3000])
def test_beginning_and_end_are_shown_with_what_is_between_counted(page: Page, size: int) -> None:
    text = "".join(f"{number:09}\n" for number in range(300))
    for at in range(0, len(text), size):
        page.say(text[at : at + size])

    *begin, end = page.end()

    assert "".join(begin) == text[:100]
    note, _, rest = end.partition("\n")
    assert "0.0 MB of this output are left out" in note
    assert text.endswith(rest)
    assert 80 < len(rest) <= 100


def test_nothing_is_left_out_of_what_fits(page: Page) -> None:
    text = "".join(f"{number:09}\n" for number in range(19))
    page.say(text)

    assert "".join(page.end()) == text


def test_the_end_is_drawn_once_a_second_while_the_cell_runs(page: Page) -> None:
    page.say("x" * 100)
    for _ in range(5):
        page.say("y\n" * 30)
    assert page.n_messages == 2
    page.now_s += 1.0
    page.say("z\n")

    assert page.n_messages == 3
    assert page.outputs[-1].endswith("y\nz\n")
    assert len(page.outputs[-1].partition("\n")[2]) <= 20


def test_a_progress_bar_is_as_long_as_its_line(page: Page) -> None:
    for step in range(1000):
        page.say(f"\rstep {step:9}")
    page.say("\ndone\n")

    assert len(page.outputs) == 1001
    assert page.outputs[-1] == "\ndone\n"


def test_a_bar_in_the_end_shows_its_last_step(page: Page) -> None:
    page.say("x" * 100)
    page.say("a\n10%\r20%\r\nb\n")

    assert page.end()[-1] == "a\n20%\nb\n"


def test_after_clear_output_all_begins_anew(page: Page) -> None:
    page.say("x" * 300)
    page.say("", kind="clear_output")
    page.say("y" * 100)

    assert page.end() == ["y" * 100]
