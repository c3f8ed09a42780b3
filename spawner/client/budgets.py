"""Reads the budgets of accounts and QOS, for the hub and for sessions."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from spawner.client.command import Completed
from spawner.client.visibility import CONFIG_ARGV, parse_config
from spawner.errors import SlurmError
from spawner.slurm.budgets import (
    ASSOC_MGR_ARGV,
    FACTORS_ARGV,
    PARTITIONS_ARGV,
    Budgets,
    are_enforced,
)


async def read_budgets(query: Callable[[Sequence[str]], Awaitable[Completed]]) -> Budgets:
    """Return the budgets of all users.

    Without an answer they have a `problem` and refuse nothing.

    Args:
        query: Runs a Slurm command; raises `SlurmError` if it fails.
    """
    try:
        config = parse_config((await query(CONFIG_ARGV)).stdout)
        if not are_enforced(config):
            return Budgets()
        assoc_mgr, factors, partitions = await asyncio.gather(
            query(ASSOC_MGR_ARGV), query(FACTORS_ARGV), query(PARTITIONS_ARGV)
        )
    except SlurmError as error:
        return Budgets(problem=error.message)
    # Those of some thousand users take a while, which pages must not wait for.
    return await asyncio.to_thread(
        Budgets.parse, assoc_mgr.stdout, factors.stdout, partitions.stdout, config
    )
