"""Faults of the portal's own parts: hub, proxy, database, state disk, login."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from deploy.one_machine.layout import HUB_STATE_DIR, PREFIX_DIR
from tests.lab.faults.fault import Fault, hanging, let_pass, stopped
from tests.lab.faults.stage import Stage, run
from tests.support import parts
from tests.support.mounts import SmallDisk

N_HUB_KILLS = 12
# In this time the starts of the starters pass from the request to a server that answers.
LONGEST_START_S = 8
LOCKED_S = 20
AWAY_S = 20
CORRUPT_BYTES = 65_536
# Slurm's word for a job whose user its node does not know just then.
NODE_FAILED = "no longer served the session"
DSPORTAL = str(PREFIX_DIR / "environments/hub/bin/dsportal")
DATABASE = HUB_STATE_DIR / "jupyterhub.sqlite"


@contextmanager
def kill_hub(stage: Stage) -> Iterator[None]:
    """Kill the hub at a random moment of the starts."""
    moment_s = stage.random.uniform(0, LONGEST_START_S)
    print(f"hub killed after {moment_s:.2f} s", flush=True)
    let_pass(moment_s)
    parts.kill("hub")
    yield
    parts.start("hub")


@contextmanager
def kill_proxy(_: Stage) -> Iterator[None]:
    """Kill the proxy, and start nothing else again."""
    let_pass(1)
    parts.kill("proxy")
    yield
    parts.start("proxy")


@contextmanager
def kill_both(_: Stage) -> Iterator[None]:
    """Kill hub and proxy at once."""
    let_pass(1)
    parts.kill("hub")
    parts.kill("proxy")
    yield
    parts.start("proxy")
    parts.start("hub")


@contextmanager
def locked_database() -> Iterator[None]:
    """Let another program write into the hub's database and not come to an end."""
    connection = sqlite3.connect(DATABASE, isolation_level=None, timeout=30)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@contextmanager
def lock_database(_: Stage) -> Iterator[None]:
    """Lock the hub's database for a while."""
    with locked_database():
        let_pass(LOCKED_S)
        yield


@contextmanager
def restart_hub_and_lock_database(_: Stage) -> Iterator[None]:
    """Kill the hub, and start it while its database is locked."""
    with ThreadPoolExecutor(1) as pool:
        parts.kill("hub")
        with locked_database():
            started = pool.submit(parts.start, "hub")
            let_pass(LOCKED_S)
            yield
        # It may have given up.
        with contextlib.suppress(RuntimeError):
            started.result()
    parts.start("hub")


@contextmanager
def corrupt_database(_: Stage) -> Iterator[None]:
    """Write over the hub's database, try to start the hub, and restore a copy."""
    copy = run(DSPORTAL, "backup").splitlines()[-1]
    parts.kill("hub")
    with DATABASE.open("r+b") as file:
        file.write(os.urandom(CORRUPT_BYTES))
    # It may refuse to start.
    with contextlib.suppress(RuntimeError):
        parts.start("hub")
    yield
    parts.stop("hub")
    run(DSPORTAL, "backup", "--restore", copy, "--yes")
    parts.start("hub")


@contextmanager
def fill_state_disk(_: Stage) -> Iterator[None]:
    """Leave no byte for the hub's database."""
    disk = SmallDisk(HUB_STATE_DIR)
    disk.fill()
    try:
        let_pass(AWAY_S)
        yield
    finally:
        disk.free()


@contextmanager
def fill_state_disk_and_kill_hub(stage: Stage) -> Iterator[None]:
    """Leave no byte for the hub's database, and have the hub start on the full disk."""
    with fill_state_disk(stage):
        parts.kill("hub")
        parts.start("hub")
        let_pass(5)
        yield


FAULTS = (
    *(
        Fault(
            name=f"hub-killed-{number:02}",
            what="hub killed at a random moment of the starts",
            strike=kill_hub,
        )
        for number in range(1, N_HUB_KILLS + 1)
    ),
    Fault(
        name="proxy-killed",
        what="proxy killed, and only the proxy started again",
        strike=kill_proxy,
        may_be_silent=True,
    ),
    Fault(
        name="hub-and-proxy-killed",
        what="hub and proxy killed at once",
        strike=kill_both,
        may_be_silent=True,
    ),
    Fault(
        name="database-locked",
        what=f"hub's database locked for {LOCKED_S} s",
        strike=lock_database,
    ),
    Fault(
        name="database-locked-at-start",
        what=f"hub killed, and started while its database is locked for {LOCKED_S} s",
        strike=restart_hub_and_lock_database,
    ),
    Fault(
        name="database-corrupted",
        what="hub's database corrupted, and a copy restored",
        strike=corrupt_database,
    ),
    Fault(
        name="state-disk-full",
        what=f"disk of the hub's state full for {AWAY_S} s",
        strike=fill_state_disk,
    ),
    Fault(
        name="state-disk-full-at-start",
        what="hub killed and started while the disk of its state is full",
        strike=fill_state_disk_and_kill_hub,
    ),
    Fault(
        name="slapd-killed",
        what=f"slapd away for {AWAY_S} s",
        strike=stopped("slapd", AWAY_S),
        says_to_starters=NODE_FAILED,
    ),
    Fault(name="slapd-hangs", what=f"slapd hangs for {AWAY_S} s", strike=hanging("slapd", AWAY_S)),
    Fault(
        name="nslcd-killed",
        what=f"name service away for {AWAY_S} s",
        strike=stopped("nslcd", AWAY_S),
        says_to_starters=NODE_FAILED,
    ),
)
