"""Restores sessions after a restart of the hub.

JupyterHub's own check would probe each server for a while and stop those that do not answer: a
waiting session has no server yet, and one that is busy, or on a node that is cut off, answers
late. Here only the end of its job ends a session.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

from jupyterhub.user import User
from jupyterhub.utils import exponential_backoff

_CHECK_TIMEOUT_S = 600.0


class RestorableSpawner(Protocol):
    """What this module needs of a JupyterHub spawner."""

    name: str
    user: User
    server: Any
    log: Any
    is_hidden: bool
    is_left_alone: bool
    _check_pending: bool
    _start_pending: bool
    _spawn_pending: bool
    _proxy_pending: bool
    _waiting_for_response: bool
    _spawn_future: asyncio.Task[None] | None

    async def poll(self) -> int | None:
        """Return None while the job is not over or Slurm does not answer; else an exit status."""

    async def resume(self) -> str:
        """Wait until the server answers, as in a start; return its URL."""

    def add_poll_callback(self, callback: Callable[..., Any], *args: Any) -> None:
        """Have `callback` called with `args` when the server ends."""

    def start_polling(self) -> None:
        """Check from time to time whether the server has ended."""


def resume_start(spawner: RestorableSpawner) -> None:
    """Continue the start of a session in the background.

    To the pages and to REST the session is in the same state as before the restart: pending, with
    progress, and it can be stopped.

    Args:
        spawner: Its state has just been loaded and holds an unfinished start.
    """
    # Without a server JupyterHub's own check at start-up leaves the spawner alone.
    spawner.is_hidden = True
    spawner._spawn_pending = spawner._start_pending = True
    task = asyncio.ensure_future(_resume(spawner))
    spawner._spawn_future = task
    task.add_done_callback(lambda done: _settle(spawner, done))


def keep(spawner: RestorableSpawner) -> None:
    """Keep a session whose server was ready for as long as its job runs.

    Args:
        spawner: Its state has just been loaded and holds a server that was ready.
    """
    spawner.is_left_alone = True
    task = asyncio.ensure_future(_keep(spawner))
    task.add_done_callback(lambda done: _log_failure(spawner, done))


async def _keep(spawner: RestorableSpawner) -> None:
    await _end_of_check(spawner)
    user, name = spawner.user, spawner.name
    is_blocked = user.name in user.authenticator.blocked_users
    if is_blocked or await spawner.poll() is not None:
        spawner.log.warning(
            "The session of %s %s",
            spawner.name or user.name,
            "ends: its user is blocked" if is_blocked else "ended while the hub was down",
        )
        await _drop_stopped(user, name)
        return
    spawner.add_poll_callback(_drop_stopped, user, name)
    spawner.start_polling()


async def _end_of_check(spawner: RestorableSpawner) -> None:
    await exponential_backoff(
        lambda: not spawner._check_pending,
        "JupyterHub's check at start-up did not end",
        start_wait=0.02,
        max_wait=0.5,
        timeout=_CHECK_TIMEOUT_S,
    )


def _log_failure(spawner: RestorableSpawner, done: asyncio.Task[None]) -> None:
    error = None if done.cancelled() else done.exception()
    if error is not None:
        spawner.log.error("%s could not be taken up: %s", spawner.name or spawner.user.name, error)


async def _resume(spawner: RestorableSpawner) -> None:
    await _end_of_check(spawner)
    spawner.is_hidden = False
    user, name = spawner.user, spawner.name
    try:
        await _serve(spawner, await spawner.resume())
    except Exception:
        await user.stop(name)
        raise
    spawner.add_poll_callback(_drop_stopped, user, name)
    spawner.start_polling()


async def _serve(spawner: RestorableSpawner, url: str) -> None:
    user, server = spawner.user, spawner.server
    parts = urlsplit(url)
    # The order of JupyterHub's own start: database, check of the server, route.
    server.proto, server.ip, server.port = parts.scheme, parts.hostname, parts.port
    user.db.commit()
    await user._wait_up(spawner)
    spawner._proxy_pending = True
    try:
        await user.settings["proxy"].add_user(user, spawner.name)
    finally:
        spawner._proxy_pending = False


async def _drop_stopped(user: User, name: str) -> None:
    await user.settings["proxy"].delete_user(user, name)
    await user.stop(name)


def _settle(spawner: RestorableSpawner, done: asyncio.Task[None]) -> None:
    spawner._spawn_pending = spawner._start_pending = spawner.is_hidden = False
    if done.cancelled():
        spawner._spawn_future = None
        return
    error = done.exception()
    if error is None:
        spawner._spawn_future = None
    else:
        # `_spawn_future` stays: the pages show from it why a start failed.
        spawner.log.error("%s did not start: %s", spawner.name or spawner.user.name, error)
