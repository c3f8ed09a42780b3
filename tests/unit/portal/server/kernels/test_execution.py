"""What one cell shows is kept, as much of it as a page can show."""

from __future__ import annotations

import pytest

from portal.server.kernels.execution import LEFT_OUT, MOST_CHARACTERS, Execution


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


def test_of_long_output_the_end_is_kept(execution: Execution) -> None:
    for number in range(MOST_CHARACTERS // 1000 + 500):
        say(execution, f"{number:0999}\n")
    texts = shown(execution)
    assert texts[0] == LEFT_OUT
    assert texts[-1].endswith(f"{MOST_CHARACTERS // 1000 + 499:0999}\n")
    assert MOST_CHARACTERS // 2 < sum(map(len, texts)) <= MOST_CHARACTERS + len(LEFT_OUT)
    assert texts.count(LEFT_OUT) == 1
