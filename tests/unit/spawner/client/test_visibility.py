"""What Slurm hides from the hub's account."""

import os
import pwd
from collections.abc import Sequence
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from spawner.client.command import Completed
from spawner.client.slurm import Slurm
from spawner.client.visibility import ahead_s, explain_hidden, parse_clock, parse_hidden, sees_all
from spawner.errors import SlurmUnavailableError


@pytest.mark.parametrize(
    ("words", "hidden"),
    [
        ("none", set()),
        ("accounts,usage,users", set()),
        ("jobs", {"jobs"}),
        ("Jobs,nodes,usage", {"jobs", "nodes"}),
    ],
)
def test_only_what_the_portal_needs_counts(words: str, hidden: set[str]) -> None:
    config = f"PriorityType = multifactor\nPrivateData             = {words}\nProctrackType = x\n"

    assert parse_hidden(config) == hidden


@pytest.mark.parametrize(
    ("level", "sees"),
    [("Operator\n", True), ("Administrator\n", True), ("None\n", False), ("", False)],
)
def test_operators_see_everything(level: str, sees: bool) -> None:
    assert sees_all(level) is sees


def test_the_cure_names_the_account_and_the_command() -> None:
    text = explain_hidden(frozenset({"jobs"}), "dsportal")

    assert "hides jobs of others" in text
    assert "sacctmgr add user dsportal" in text


class HidingSlurm(Slurm):
    """Shows jobs of others to operators only; accounting, which knows the operators, is away."""

    def __init__(self, *users: str) -> None:
        super().__init__(launcher_argv=[], sudo_argv=[])
        self.users = users

    async def _query(self, argv: Sequence[str]) -> Completed:
        if argv[0] == "scontrol":
            return Completed(exit_code=0, stdout="PrivateData = jobs\n", stderr="")
        raise SlurmUnavailableError("slurmdbd is away", argv=argv)

    async def list_cluster_jobs(self) -> Any:
        return SimpleNamespace(users=frozenset(self.users))


async def test_a_hub_that_sees_jobs_of_others_needs_no_accounting_to_know_it() -> None:
    own = pwd.getpwuid(os.getuid()).pw_name

    assert await HidingSlurm(own, "ada").explain_hidden() == ""
    with pytest.raises(SlurmUnavailableError):
        await HidingSlurm(own).explain_hidden()


@pytest.mark.parametrize(
    ("asked_at_s", "answered_at_s", "expected_s"),
    [(10.2, 10.9, 0), (9.5, 11.5, 0), (10.9, 11.2, 0), (70.5, 71.5, 59.5), (3.5, 4.0, -6)],
)
def test_a_clock_is_ahead_by_what_cannot_be_the_time_of_the_answer(
    asked_at_s: float, answered_at_s: float, expected_s: float
) -> None:
    noon = datetime(2026, 11, 22, 12)
    theirs = parse_clock("Configuration data as of 2026-11-22T12:00:10\nSlurmUser = slurm(101)\n")

    assert theirs == noon + timedelta(seconds=10)
    moments = (noon + timedelta(seconds=seconds) for seconds in (asked_at_s, answered_at_s))
    assert ahead_s(theirs, *moments) == pytest.approx(expected_s)


@pytest.mark.parametrize("text", ["", "Configuration data as of soon\n"])
def test_a_slurm_that_does_not_say_the_time_has_none(text: str) -> None:
    assert parse_clock(text) is None
