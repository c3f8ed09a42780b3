"""What the model's server says, and what becomes of answers that are none."""

import json

import pytest

from dsportal.assistant.endpoint import KEY, Answer, AssistantError, Endpoint, stream
from tests.unit.dsportal.assistant.conftest import Model, called


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "getpass"),
        (413, "Try a shorter one"),
        # Followed, it would carry the key to another address.
        (302, "refused the question (status 302)"),
    ],
)
def test_a_refusal_says_what_to_do_and_a_redirect_is_not_followed(
    model: Model, status: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-1")
    model.status = status

    with pytest.raises(AssistantError) as caught:
        list(stream(Endpoint(model.url, "small", "sk-1"), [], [], Answer()))

    assert sentence in str(caught.value)
    assert "sk-1" not in str(caught.value)
    (headers,) = model.headers
    assert headers["Authorization"] == "Bearer sk-1"


def test_a_model_that_is_away_is_named() -> None:
    endpoint = Endpoint("http://127.0.0.1:9/v1", "small")

    with pytest.raises(AssistantError, match=r"at 127\.0\.0\.1:9 does not answer"):
        list(stream(endpoint, [], [], Answer()))


def test_calls_come_in_pieces_and_the_model_is_told_them_as_it_made_them(model: Model) -> None:
    model.answers = [[called("read_file", path="a"), called("read_file", path="b")]]
    answer = Answer()

    assert list(stream(Endpoint(model.url, "small"), [], [], answer)) == []

    assert [json.loads(call.arguments) for call in answer.calls] == [{"path": "a"}, {"path": "b"}]
    assert [each["id"] for each in answer.message["tool_calls"]] == ["call-0", "call-1"]


def test_half_of_a_call_that_never_ends_is_none(model: Model) -> None:
    model.answers = [[called("run_cell", code="1"), called("run_cell", code="x" * 70_000)]]
    answer = Answer()

    list(stream(Endpoint(model.url, "small"), [], [], answer))

    assert answer.calls == []


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"data: [DONE]",
        b": ping",
        b'data: {"choices": []}',
        b'data: {"choices": 1}',
        b'data: {"choices": [{"delta": null}]}',
        b'data: {"choices": [{"delta": {"tool_calls": [{"function": {"name": "x"}}]}}]}',
        b'data: {"choices": [{"delta": {"tool_calls": 1}}]}',
    ],
)
def test_a_line_without_text_is_passed_over(line: bytes) -> None:
    answer = Answer()

    assert answer.take(line) == ""
    assert (answer.text, answer.calls) == ("", [])
