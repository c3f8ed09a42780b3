"""What Slurm hides from the hub's account."""

from __future__ import annotations

import pytest

from spawner.sight import explain_hidden, parse_hidden, sees_all


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
