"""How budgets are asked for."""

from collections.abc import Sequence

import pytest

from spawner.client.budgets import read_budgets
from spawner.client.command import NO_ANSWER_TEXT, Completed
from spawner.errors import SlurmUnavailableError
from spawner.slurm.budgets import Budgets
from tests.unit.spawner.slurm.test_budgets import FACTORS, LINES, PARTITIONS

ENFORCED = "AccountingStorageEnforce = associations,limits,safe\nPriorityType = {}\n"


class Slurm:
    """Answers as a cluster with this type of priority; one of its commands may not answer."""

    def __init__(self, priority_type: str = "priority/multifactor", silent: str = "") -> None:
        config = ENFORCED.format(priority_type)
        self.printed = {
            "config": config,
            "assoc_mgr": LINES,
            "qos": FACTORS,
            "partitions": PARTITIONS,
        }
        self.silent = silent
        self.asked: list[str] = []

    async def query(self, argv: Sequence[str]) -> Completed:
        (what,) = self.printed.keys() & set(argv)
        self.asked.append(what)
        if what == self.silent:
            raise SlurmUnavailableError(NO_ANSWER_TEXT, argv=argv)
        return Completed(exit_code=0, stdout=self.printed[what], stderr="")


async def test_all_budgets_come_with_four_commands() -> None:
    slurm = Slurm()

    budgets = await read_budgets(slurm.query)

    assert budgets.is_safe
    assert ("research", "ada", "") in budgets.by_association
    assert sorted(slurm.asked) == ["assoc_mgr", "config", "partitions", "qos"]


async def test_where_slurm_enforces_none_nothing_more_is_asked() -> None:
    slurm = Slurm("priority/basic")

    assert await read_budgets(slurm.query) == Budgets()
    assert slurm.asked == ["config"]


@pytest.mark.parametrize("silent", ["config", "assoc_mgr", "qos", "partitions"])
async def test_without_an_answer_nothing_is_known_and_why(silent: str) -> None:
    assert await read_budgets(Slurm(silent=silent).query) == Budgets(problem=NO_ANSWER_TEXT)
