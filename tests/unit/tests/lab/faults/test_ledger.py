"""What the ledger of the campaign calls a lie, and whom it misses."""

import contextlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.lab.faults import ledger
from tests.lab.faults.fault import Fault
from tests.lab.faults.member import Answer, Member
from tests.lab.faults.stage import Stage


def fault(**costs: Any) -> Fault:
    return Fault(
        name="any", what="", strike=lambda _: contextlib.nullcontext(), says="it failed", **costs
    )


def told(status: int, text: str = "") -> list[Member]:
    answer = Answer(status=status, text=text)
    return [cast("Member", SimpleNamespace(name="user01", answer=answer))]


@pytest.mark.parametrize(
    ("status", "text"), [(201, ""), (202, ""), (503, "Slurm is not responding."), (507, "full")]
)
def test_what_is_accepted_or_refused_with_a_sentence_is_honest(status: int, text: str) -> None:
    assert ledger.lies(told(status, text), fault()) == []


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_good_start_is_neither_forbidden_nor_unknown_nor_an_error(status: int) -> None:
    (lie,) = ledger.lies(told(status, "A sentence that explains it."), fault())

    assert lie == f"user01 was told {status} A sentence that explains it."


def test_a_refusal_needs_words_and_a_fault_that_allows_it() -> None:
    assert ledger.lies(told(503), fault())
    assert ledger.lies(told(503, "Not now."), fault(may_refuse=False))


def test_a_job_that_the_fault_ends_is_told_by_its_words_alone() -> None:
    ending = fault(says_to_starters="its node failed")

    assert not ledger.lies(told(500, "The job has ended: its node failed."), ending)
    assert ledger.lies(told(500, "Internal Server Error"), ending)


def test_only_without_the_proxy_may_nothing_answer() -> None:
    assert ledger.lies(told(0, "ConnectionError"), fault())
    assert not ledger.lies(told(0, "ConnectionError"), fault(may_be_silent=True))


def user(name: str, page: str, **kept: Any) -> Any:
    server = kept.get("server", {})
    answer = kept.get("answer")
    return SimpleNamespace(name=name, home=lambda: page, server=lambda: server, answer=answer)


def stage_of(*starters: Any, holders: Sequence[Any] = (), victims: Sequence[str] = ()) -> Stage:
    members = [*holders, *starters]
    named = {"members": members, "starters": starters, "victims": set(victims)}
    return cast("Stage", SimpleNamespace(**named))


@pytest.mark.parametrize(
    ("page", "missed"), [("The node: IT FAILED.", []), ("", ["user01 is not told 'it failed'"])]
)
def test_those_whose_session_ended_must_find_out_why(page: str, missed: list[str]) -> None:
    holders = [user("user01", page), user("user02", "")]
    stage = stage_of(holders=holders, victims=["user01"])

    assert list(ledger.untold(stage, fault())) == missed


def test_a_start_that_was_accepted_and_is_lost_must_be_explained() -> None:
    accepted, refused = Answer(status=202, text=""), Answer(status=503, text="Not now.")
    starters = [
        user("user01", "Nothing is running.", answer=accepted),
        user("user02", "The last start failed: Slurm forgot the job.", answer=accepted),
        user("user03", "", answer=accepted, server={"ready": True}),
        user("user04", "", answer=refused),
    ]

    (sentence,) = ledger.untold(stage_of(*starters), fault())

    assert sentence == "user01's start was accepted, and he is not told why it failed"


# As Slurm 22.05 prints them, cut short.
NODES = """\
NodeName=node01 CfgTRES=cpu=40,gres/gpu=4 AllocTRES=cpu=16,gres/gpu=4,gres/gpu:v100=4
NodeName=node02 CfgTRES=cpu=40,gres/gpu=4,gres/gpu:v100=4 AllocTRES=cpu=40,mem=375G
"""
JOBS = """\
JobId=19 JobState=RUNNING Reason=None TRES=cpu=8,mem=48G,node=1,gres/gpu=1,gres/gpu:v100=1
JobId=32 JobState=PENDING Reason=Resources TRES=cpu=8,mem=48G,node=1,gres/gpu=1
JobId=21 JobState=RUNNING Reason=None TRES=cpu=40,mem=375G,node=1
"""


def test_gpus_of_nodes_and_of_running_jobs_are_added_up() -> None:
    assert ledger.n_gpus(NODES, "AllocTRES") == 4
    assert ledger.n_gpus(JOBS, "TRES", "RUNNING") == 1
