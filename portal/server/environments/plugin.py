"""Environments that a user makes, updates and removes in the browser."""

import asyncio

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.environments.handlers import environment_routes
from portal.server.environments.tasks import Tasks


def load(shared: Shared) -> Feature:
    """Offer its REST API; what a task has made is offered as a kernel at once."""

    async def offer_changes() -> None:
        await asyncio.to_thread(shared.kernels.offer)

    tasks = Tasks(shared.private_dir / "environment-tasks", on_end=offer_changes, log=shared.log)
    shared.is_used.append(lambda: tasks.is_running)
    return Feature(
        routes=environment_routes(tasks, shared.server.root_dir),
        stop=tasks.stop,
    )


PLUGIN = Plugin(load)
