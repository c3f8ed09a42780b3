"""Faults of what Slurm's answers say: another time zone, nobody's jobs, hidden jobs, no history.

Some last longer than the hub keeps what it knew: whether it sees all jobs for a minute, accounts
and limits for five.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from deploy.one_machine.layout import SLURM_DIR
from tests.lab.faults.fault import Fault, Strike, let_pass, stopped
from tests.lab.faults.portal_faults import NODE_FAILED
from tests.lab.faults.stage import GONE_TIMEOUT_S, Stage, run
from tests.support import parts
from tests.support.eventually import eventually

LOCAL_TIME = Path("/etc/localtime")
OTHER_ZONE = Path("/usr/share/zoneinfo/America/New_York")
# Several looks of the hub at Slurm.
ZONE_S = 40
# Longer than the hub takes to give up a job that it does not see.
NAMES_AWAY_S = 100
ACCOUNTING_AWAY_S = 330
LATE_S = 100
EMPTY_S = 200

# Lines of slurm.conf by key; None for none. Source: slurm.conf(5), Slurm 22.05.
WITHOUT_ACCOUNTING = {
    "AccountingStorageType": "accounting_storage/none",
    "AccountingStorageEnforce": None,
    "AccountingStorageTRES": None,
    # Without accounting, slurmctld does not start with another one.
    "PriorityType": "priority/basic",
}
PRIVATE = {"PrivateData": "accounts,jobs,reservations,usage,users"}


@contextmanager
def change_zone(_: Stage) -> Iterator[None]:
    """Change the time zone of all hosts, as timedatectl does."""
    zone = LOCAL_TIME.readlink()
    replace_link(LOCAL_TIME, OTHER_ZONE)
    let_pass(ZONE_S)
    yield
    replace_link(LOCAL_TIME, zone)
    let_pass(ZONE_S)


def replace_link(path: Path, target: Path) -> None:
    """Let a link lead elsewhere, without a moment in which it is gone."""
    beside = path.with_name(f"{path.name}.new")
    beside.symlink_to(target)
    beside.rename(path)


def configured(settings: Mapping[str, str | None], strike: Strike) -> Strike:
    """Return a fault on a Slurm with other settings, in place of those with the same keys."""

    @contextmanager
    def strike_there(stage: Stage) -> Iterator[None]:
        path = SLURM_DIR / "slurm.conf"
        text = path.read_text()
        others = [line for line in text.splitlines() if line.partition("=")[0] not in settings]
        lines = [f"{key}={value}" for key, value in settings.items() if value is not None]
        restart("slurmctld", path, "\n".join([*others, *lines, ""]))
        try:
            with strike(stage):
                yield
        finally:
            restart("slurmctld", path, text)

    return strike_there


def restart(part: str, path: Path, text: str) -> None:
    """Start a part again with another configuration."""
    parts.stop(part)
    path.write_text(text)
    parts.start(part)


def make_operator(stage: Stage) -> None:
    """Let the hub see all jobs in spite of PrivateData, and start sessions by that."""
    # A fault before may have done so.
    if not run("sacctmgr", "-n", "show", "user", "dsportal"):
        account = ("user", "dsportal", "account=research", "adminlevel=operator")
        run("sacctmgr", "-i", "add", *account)
    stage.wait_for_answers()
    start_again(stage)


@contextmanager
def accounting_away(stage: Stage) -> Iterator[None]:
    """Stop slurmdbd, and let the starters start when what the hub knew is old."""
    make_operator(stage)
    parts.kill("slurmdbd")
    let_pass(LATE_S)
    start_again(stage)
    let_pass(ACCOUNTING_AWAY_S - LATE_S)
    start_again(stage)
    yield
    parts.start("slurmdbd")


@contextmanager
def accounting_empty(_: Stage) -> Iterator[None]:
    """Let slurmdbd answer from a database that knows nobody and nothing."""
    path = SLURM_DIR / "slurmdbd.conf"
    text = path.read_text()
    restart("slurmdbd", path, text.replace("StorageLoc=", "StorageLoc=empty_"))
    try:
        let_pass(EMPTY_S)
        yield
    finally:
        restart("slurmdbd", path, text)


@contextmanager
def accounting_empty_to_operator(stage: Stage) -> Iterator[None]:
    """The same where the hub is an operator: by that database it is none."""
    make_operator(stage)
    with accounting_empty(stage):
        yield


def start_again(stage: Stage) -> None:
    """Let the starters have new sessions."""
    for member in stage.starters:
        member.stop()
    eventually(lambda: not any(m.server() for m in stage.starters), timeout_s=GONE_TIMEOUT_S)
    stage.start_again(stage.starters)


FAULTS = (
    Fault(
        name="time-zone",
        what=f"time zone of all hosts changed for {ZONE_S} s",
        strike=change_zone,
        may_refuse=False,
    ),
    Fault(
        name="names-without-accounting",
        what=f"name service away for {NAMES_AWAY_S} s, without Slurm's accounting",
        strike=configured(WITHOUT_ACCOUNTING, stopped("nslcd", NAMES_AWAY_S)),
        says_to_starters=NODE_FAILED,
    ),
    Fault(
        name="accounting-away-private",
        what=f"slurmdbd away for {ACCOUNTING_AWAY_S} s, with PrivateData",
        strike=configured(PRIVATE, accounting_away),
    ),
    Fault(
        name="accounting-empty",
        what=f"slurmdbd with an empty database for {EMPTY_S} s",
        strike=accounting_empty,
    ),
    Fault(
        name="accounting-empty-private",
        what=f"slurmdbd with an empty database for {EMPTY_S} s, with PrivateData",
        strike=configured(PRIVATE, accounting_empty_to_operator),
    ),
)
