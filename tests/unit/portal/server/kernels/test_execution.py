"""What one cell shows is kept, as much of it as a page can show."""

import pytest

from portal.server.kernels.execution import LEFT_OUT, MOST_BYTES, Execution
from portal.server.kernels.long_output import HALF_BYTES


@pytest.fixture
def execution() -> Execution:
    return Execution(id="e1", tab="tab", cell_id="cell 1", code="train()")


def say(execution: Execution, text: str) -> None:
    execution.add("stream", {"name": "stdout", "text": text}, {})


def shown(execution: Execution, after: int = 0) -> list[str]:
    outputs, _ = execution.outputs(after)
    return [output["content"].get("text", output["msg_type"]) for output in outputs]


def test_what_it_prints_is_given_once(execution: Execution) -> None:
    say(execution, "a\n")
    say(execution, "b\n")
    assert shown(execution) == ["a\nb\n"]
    _, last = execution.outputs()
    say(execution, "c\n")
    assert shown(execution, last) == ["c\n"]
    assert shown(execution) == ["a\nb\n", "c\n"]


def test_only_the_newest_drawing_of_a_bar_is_kept(execution: Execution) -> None:
    content = {"data": {"text/html": "bar"}, "transient": {"display_id": "d"}}
    execution.add("display_data", content, {})
    for _ in range(100):
        execution.add("update_display_data", content, {})
    assert shown(execution) == ["display_data", "update_display_data"]


def test_cleared_output_is_gone(execution: Execution) -> None:
    say(execution, "a\n")
    execution.add("clear_output", {"wait": False}, {})
    say(execution, "b\n")
    assert shown(execution) == ["clear_output", "b\n"]


def test_of_long_text_beginning_and_end_are_kept(execution: Execution) -> None:
    for number in range(HALF_BYTES // 1000 * 3):
        say(execution, f"{number:0999}\n")
    execution.end()
    outputs, _ = execution.outputs()
    end = outputs[-1]["content"]["data"]["text/plain"]
    begin = "".join(text for text in shown(execution) if not text.endswith("data"))

    assert begin.startswith(f"{0:0999}\n")
    assert len(begin) == HALF_BYTES
    assert end.endswith(f"{HALF_BYTES // 1000 * 3 - 1:0999}\n")
    assert "MB of this output are left out" in end.splitlines()[0]


def test_of_many_pictures_the_last_are_kept(execution: Execution) -> None:
    for number in range(MOST_BYTES // 1_000_000 + 5):
        picture = {"image/png": f"{number:01000000}"}
        execution.add("display_data", {"data": picture}, {})

    outputs, _ = execution.outputs()

    assert outputs[0]["content"]["text"] == LEFT_OUT
    assert len(outputs) == MOST_BYTES // 1_000_000 + 1
