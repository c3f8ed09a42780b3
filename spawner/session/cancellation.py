"""The cancellation of a session's job, from scancel to the end of Slurm's cleanup on the node."""

import asyncio
import time

from spawner.client.watch import Watch
from spawner.errors import SlurmUnavailableError
from spawner.session.cluster import Cluster

# A slurmctld that is restarted answers within seconds; a user waits for this.
_CANCEL_TIMEOUT_S = 60.0
_CANCEL_PAUSE_S = 2.0
_POLL_S = 0.5
_GONE_TIMEOUT_S = 15.0


async def cancel_job(cluster: Cluster, watch: Watch) -> bool:
    """Cancel a job that the hub watches, and wait until Slurm has cleaned up after it.

    Returns:
        False if it is cancelled, but not gone after 15 s.
    """
    # Slurm has no such job, so nothing is left to wait for.
    if not await _cancel(cluster, watch):
        return True
    give_up_at = time.monotonic() + _GONE_TIMEOUT_S
    while not watch.is_gone and time.monotonic() < give_up_at:
        # A server takes a second to end; earlier queries would be lost to sessions that start.
        await asyncio.sleep(_POLL_S)
        cluster.watcher.poll_soon(watch)
        await cluster.watcher.next_poll(1.0)
    return watch.is_gone


async def _cancel(cluster: Cluster, watch: Watch) -> bool:
    give_up_at = time.monotonic() + _CANCEL_TIMEOUT_S
    while True:
        try:
            return await cluster.slurm.cancel(watch.key)
        except SlurmUnavailableError:
            if time.monotonic() >= give_up_at:
                raise
            await asyncio.sleep(_CANCEL_PAUSE_S)
