"""Lets one hub at a time act on a PostgreSQL database: another one waits, or is refused."""

import faulthandler
import os
import socket
import sys
import threading
import time

import psycopg

from spawner.errors import SiteError

# Of pg_try_advisory_lock(int, int): the portal's number, and 1 for its hub.
_LOCK = (0x6473706F, 1)
LOOK_S = 1.0
# A hub that has not heard of its lock for this long ends. PostgreSQL takes the lock from a hub that
# it does not reach later than that: after 6 + 3 * 2 s without a sign of life.
SILENCE_S = 6.0
_OPTIONS = "-c tcp_keepalives_idle=6 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
_TAKE = "SELECT pg_try_advisory_lock(%s, %s)"
_HOLDER = """
SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND (classid, objid) = (%s::oid, %s::oid)
"""
# Held until this process ends, however it ends.
_held: dict[str, psycopg.Connection[tuple[object, ...]]] = {}


def hold_database(url: str, *, waits: bool) -> None:
    """Take the hub's part of a database for this process, which ends at once if it loses it.

    Args:
        url: PostgreSQL's, reached directly: a pooler that shares connections loses the lock.
        waits: Whether to wait as long as another hub holds it, or the database does not answer.
    """
    if url in _held:
        return
    has_told = False
    while True:
        refusal = _try_to_take(url)
        if not refusal:
            break
        if not waits:
            raise SiteError(refusal)
        if not has_told:
            print(f"jupyterhub: {refusal} This one waits to take its place.", file=sys.stderr)
            has_told = True
        time.sleep(LOOK_S)
    threading.Thread(target=_keep, args=(_held[url],), daemon=True).start()


def _try_to_take(url: str) -> str:
    """Take the lock; return a sentence if that is not possible."""
    try:
        connection = psycopg.connect(
            url,
            autocommit=True,
            application_name=f"hub {os.getpid()} on {socket.gethostname()}"[:63],
            options=_OPTIONS,
            connect_timeout=round(SILENCE_S),
            tcp_user_timeout=round(1000 * (SILENCE_S - 2 * LOOK_S)),
        )
        if connection.execute(_TAKE, _LOCK).fetchone() == (True,):
            _held[url] = connection
            return ""
        row = connection.execute(_HOLDER, _LOCK).fetchone()
        connection.close()
    except psycopg.Error as error:
        return f"The database {url} cannot be used: {str(error).strip()}"
    holder = f" ({row[0]})" if row else ""
    return (
        f"Another hub{holder} uses the database {url}. Stop it first. A hub of its own needs"
        " another database, and one that is to take its place failover in portal.toml."
    )


def _keep(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    while True:
        # Written in C: it ends the process also while this thread waits for a network that is gone,
        # and after a pause of the whole machine.
        faulthandler.dump_traceback_later(SILENCE_S, exit=True)
        time.sleep(LOOK_S)
        try:
            connection.execute("SELECT 1")
        except psycopg.Error as error:
            # Not by an exception or a signal: nothing more may be done in place of the hub that has
            # the lock by now.
            print(f"jupyterhub: the hub ends, for its lock is lost: {error}", file=sys.stderr)
            sys.stderr.flush()
            os._exit(1)
