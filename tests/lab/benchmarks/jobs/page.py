"""The list of jobs and runs of a user with thousands of past jobs, asked for in a session."""

import pwd
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from deploy.one_machine.mariadb import AS_ACCOUNT, SOCKET
from tests.lab.benchmarks.rounds import Rounds, p95
from tests.sessions.test_kernel_gpus import USER, Session
from tests.support.eventually import eventually
from tests.support.kernels import ask
from tests.support.put_back import put_back

N_PAST = 10_000
N_ASKED = 40
# Seven seconds apart they are all of the last day, which is what the page lists.
_APART_S = 7
# Slurm's own ids begin again at 1 before that.
_FIRST_ID = 60_000_000
_ALL_LISTED_S = 120
_DATABASE = "slurm_accounting"


def measure_page(n_rounds: int) -> dict[str, Rounds]:
    """Return the first answer and the 95th percentile of the next ones, in ms."""
    session = Session()
    first, later = [], []
    try:
        with past_jobs(session):
            for _ in range(n_rounds):
                # A server that has just started has asked for nothing yet.
                session.client.stop(session.token)
                session.client.start(session.token, gpus=0)
                first.append(_ask_ms(session))
                later.append(p95([_ask_ms(session) for _ in range(N_ASKED)]))
                print(f"{first[-1]:.0f} ms, then {later[-1]:.0f} ms", flush=True)
    finally:
        session.client.stop(session.token)
    return {"jobs_page_first_ms": Rounds(first, 0), "jobs_page_p95_ms": Rounds(later, 0)}


@contextmanager
def past_jobs(session: Session) -> Iterator[None]:
    """Give the user ended jobs: copies of a real one in the database of accounting."""
    uid = pwd.getpwnam(USER).pw_uid
    table = _sql("SHOW TABLES LIKE '%\\_job\\_table'")
    ended = f"id_user = {uid} AND state = 3 AND time_end > 0 AND id_array_job = 0"
    real = f"(SELECT MAX(job_db_inx) FROM {table} WHERE {ended})"
    if _sql(f"SELECT COUNT(*) FROM {table} WHERE {ended}") == "0":
        _run_a_job()
        eventually(lambda: _sql(f"SELECT COUNT(*) FROM {table} WHERE {ended}") != "0", 60)
    at = f"UNIX_TIMESTAMP() - {_APART_S} * seq"
    times = ("time_submit", "time_eligible", "time_start", "time_end")
    own = {"id_job": f"{_FIRST_ID} + seq", **dict.fromkeys(times, at)}
    columns = _sql(f"SHOW COLUMNS FROM {table}").splitlines()
    names = [line.split("\t")[0] for line in columns]
    names.remove("job_db_inx")
    values = ", ".join(own.get(name, f"`{name}`") for name in names)
    fill = (
        f"INSERT INTO {table} (`{'`, `'.join(names)}`) "
        f"SELECT {values} FROM {table} JOIN seq_1_to_{N_PAST} WHERE job_db_inx = {real}"
    )
    with put_back(_client(f"DELETE FROM {table} WHERE id_job >= {_FIRST_ID}")):
        _sql(fill)
        eventually(lambda: _n_listed(session) > 0, _ALL_LISTED_S)
        yield


def _run_a_job() -> None:
    sbatch = ("sbatch", "--wait", "--time=1", "--output=/dev/null", "--wrap=true")
    subprocess.run(
        ["/usr/sbin/runuser", "-u", USER, "--", *sbatch], check=True, timeout=120, cwd="/"
    )


def _n_listed(session: Session) -> int:
    rows = ask(session, "GET", "portal/api/jobs")["rows"]
    return sum(bool(row["job"]) and int(row["job"]["id"]) >= _FIRST_ID for row in rows)


def _ask_ms(session: Session) -> float:
    began_s = time.monotonic()
    ask(session, "GET", "portal/api/jobs")
    return 1000 * (time.monotonic() - began_s)


def _client(query: str) -> list[str]:
    options = ("--no-defaults", f"--socket={SOCKET}", "--skip-column-names", "--batch")
    return [*AS_ACCOUNT, "mariadb", *options, f"--execute={query}", _DATABASE]


def _sql(query: str) -> str:
    done = subprocess.run(
        _client(query), check=True, capture_output=True, text=True, timeout=120, cwd="/"
    )
    return done.stdout.strip()
