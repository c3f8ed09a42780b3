"""What cells show is kept for the tab that comes after the one that sent them."""

import pytest

from portal.server.kernels.execution import Execution
from portal.server.kernels.executions import KEEP_S, Executions
from tests.support.clock import Clock


@pytest.fixture
def executions(clock: Clock) -> Executions:
    executions = Executions(clock)
    executions.open_tab("tab")
    return executions


def send(executions: Executions, name: str = "e1", *, cell: str = "cell 1") -> None:
    executions.send(Execution(id=name, tab="tab", cell_id=cell, code="train()"))


def status(executions: Executions, name: str, state: str) -> None:
    executions.publish(name, "status", {"execution_state": state}, {})


def say(executions: Executions, text: str, name: str = "e1") -> None:
    executions.publish(name, "stream", {"name": "stdout", "text": text}, {})


def shown(executions: Executions) -> list[str]:
    (listed,) = executions.as_json()
    return [output["content"].get("text", output["msg_type"]) for output in listed["outputs"]]


def states(executions: Executions) -> dict[str, str]:
    return {each["id"]: each["state"] for each in executions.as_json()}


def test_a_cell_waits_runs_and_ends(executions: Executions) -> None:
    send(executions)
    assert states(executions) == {"e1": "queued"}
    status(executions, "e1", "busy")
    executions.publish("e1", "execute_input", {"code": "train()", "execution_count": 7}, {})
    assert states(executions) == {"e1": "running"}
    status(executions, "e1", "idle")
    (listed,) = executions.as_json()
    assert (listed["state"], listed["execution_count"]) == ("done", 7)


def test_a_page_that_follows_gets_what_is_new(executions: Executions) -> None:
    send(executions)
    say(executions, "a\n")
    (listed,) = executions.as_json()
    say(executions, "b\n")
    (followed,) = executions.as_json("e1", after=listed["last"])
    assert [output["content"]["text"] for output in followed["outputs"]] == ["b\n"]


def test_a_cell_that_is_run_again_replaces_what_it_showed(executions: Executions) -> None:
    send(executions, "e1")
    send(executions, "e2")
    assert list(states(executions)) == ["e2"]


def test_what_waits_behind_a_cell_that_failed_does_not_run(executions: Executions) -> None:
    send(executions, "e1")
    send(executions, "e2", cell="cell 2")
    status(executions, "e1", "busy")
    executions.publish("e1", "error", {"ename": "ValueError"}, {})
    assert states(executions) == {"e1": "running", "e2": "queued"}
    status(executions, "e1", "idle")
    assert states(executions) == {"e1": "done", "e2": "done"}


def test_a_kernel_that_starts_again_runs_none_of_them(executions: Executions) -> None:
    send(executions)
    status(executions, "e1", "busy")
    status(executions, "", "starting")
    assert states(executions) == {"e1": "done"}


def test_a_cell_that_its_tab_has_shown_is_forgotten_after_a_while(
    executions: Executions, clock: Clock
) -> None:
    send(executions)
    status(executions, "e1", "idle")
    clock.now_s += KEEP_S
    assert states(executions) == {"e1": "done"}
    clock.now_s += 1
    assert states(executions) == {}


def test_a_cell_whose_tab_is_gone_is_kept(executions: Executions, clock: Clock) -> None:
    send(executions)
    # A connection that replaces one opens before the other is closed.
    executions.open_tab("tab")
    executions.close_tab("tab")
    assert executions.as_json()[0]["has_tab"]
    executions.close_tab("tab")
    status(executions, "e1", "idle")
    clock.now_s += KEEP_S + 1
    (listed,) = executions.as_json()
    assert not listed["has_tab"]
    assert listed["is_missed"]
    executions.forget("e1")
    assert states(executions) == {}


def test_messages_of_others_are_ignored(executions: Executions) -> None:
    send(executions)
    say(executions, "of a console", name="other")
    assert shown(executions) == []


def test_a_saved_notebook_has_what_ended_in_its_tab(executions: Executions) -> None:
    send(executions, "e1")
    send(executions, "e2", cell="cell 2")
    status(executions, "e1", "idle")
    executions.forget_of_tab("other")
    assert states(executions) == {"e1": "done", "e2": "queued"}
    executions.forget_of_tab("tab")
    assert states(executions) == {"e2": "queued"}


def test_of_several_tabs_one_shows_a_cell_whose_own_is_gone(executions: Executions) -> None:
    send(executions)
    executions.open_tab("second")
    executions.open_tab("third")
    assert not executions.claim("e1", "second"), "its own tab is there"
    executions.close_tab("tab")
    assert executions.claim("e1", "second")
    assert not executions.claim("e1", "third")
    executions.close_tab("second")
    assert executions.claim("e1", "third")
    assert not executions.claim("gone", "third")
    status(executions, "e1", "idle")
    (listed,) = executions.as_json()
    assert not listed["is_missed"]
