"""What the hub still knows while accounting is away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pytest

from spawner.client.accounting import Accounting
from spawner.client.command import Completed
from spawner.errors import SlurmError, SlurmUnavailableError

AWAY = "sacctmgr: error: _open_persist_conn: failed to open persistent connection"
NONE = "You are not running a supported accounting_storage plugin"


class Database:
    """What sacctmgr prints; an error if it is not None."""

    def __init__(self) -> None:
        self.printed = "Operator"
        self.error: str | None = None

    async def query(self, argv: Sequence[str]) -> Completed:
        if self.error is not None:
            raise SlurmError("sacctmgr failed", argv=argv, exit_code=1, stderr=self.error)
        return Completed(exit_code=0, stdout=self.printed, stderr="")


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def accounting(database: Database) -> Accounting:
    return Accounting(database.query)


@pytest.mark.parametrize(("level", "sees"), [("Operator", True), ("None", False), ("", False)])
async def test_the_level_is_kept_while_accounting_is_away(
    accounting: Accounting, database: Database, level: str, sees: bool
) -> None:
    database.printed = level
    assert await accounting.sees_all("dsportal") is sees

    database.error = AWAY

    assert await accounting.sees_all("dsportal") is sees


async def test_a_level_that_was_never_known_names_accounting(
    accounting: Accounting, database: Database
) -> None:
    database.error = AWAY

    with pytest.raises(SlurmUnavailableError, match="slurmdbd"):
        await accounting.sees_all("dsportal")


async def test_without_accounting_nobody_but_slurm_sees_hidden_jobs(
    accounting: Accounting, database: Database
) -> None:
    database.error = NONE

    assert not await accounting.sees_all("dsportal")


@pytest.mark.parametrize(
    ("stderr", "words"),
    [("sacct gave no answer in 8 s", "did not list all your jobs in time"), (AWAY, "responding")],
)
async def test_hours_that_take_too_long_are_not_blamed_on_accounting(
    accounting: Accounting, database: Database, stderr: str, words: str
) -> None:
    database.error = stderr

    with pytest.raises(SlurmUnavailableError, match=words):
        await accounting.read_allocations("ada", datetime(2026, 11, 1))
