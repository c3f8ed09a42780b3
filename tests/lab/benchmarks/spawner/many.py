"""Many running sessions in one hub: what they cost, and how soon a restart has them all.

The hub, its database, its watcher and the proxy are real. squeue is a stand-in that prints a line
for each session, and one small server answers for all of them: a thousand jobs do not fit here.
The servers' reports of activity come as often as JupyterHub's servers send them.
"""

from __future__ import annotations

import http.server
import itertools
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.lab.benchmarks.rounds import Rounds
from tests.lab.benchmarks.spawner.load import WINDOW_S, cpu_s, rss_mib
from tests.support.eventually import eventually
from tests.support.private_hub import ACCOUNT, ADDRESS, ENVIRONMENTS, PrivateHub

SIZES = (250, 1000)
# How often each server tells the hub of its activity: JUPYTERHUB_ACTIVITY_INTERVAL of JupyterHub.
ACTIVITY_INTERVAL_S = 300
SETTLE_S = 20
_PAGE = 200

_CONFIG = """
import functools
from spawner.session import cluster
cluster.Slurm = functools.partial(cluster.Slurm, path="{path}:/usr/bin:/bin")
c.JupyterHub.log_level = "INFO"
"""

# A line for each job, with the mark that was asked for between its fields.
_SQUEUE = """\
#!/bin/sh
for word in "$@"; do
    case $word in --Format=*) mark=${{word#--Format=JobID:0}} ;; esac
done
exec sed "s/|/${{mark%%,*}}/g" {lines}
"""

FILL = """\
import secrets, sys
from datetime import datetime, timezone
from jupyterhub import orm
from spawner.settings.resources import ResourceSettings
from spawner.slurm.squeue import RECORDS
from spawner.session.session import Session, job_comment, identify_hub
from spawner.slurm.resources import ResourcesPerGpu
url, secret_path, address, port, n_sessions, tokens_path = sys.argv[1:]
db = orm.new_session_factory(url)()
# Each token would wait for the disk.
commit, db.commit = db.commit, db.flush
role = orm.Role.find(db, "user")
tokens = open(tokens_path, "w")
secret = bytes.fromhex(open(secret_path).read().strip())
comment = job_comment(identify_hub(secret))
for number in range(1, int(n_sessions) + 1):
    name = f"user{number:04d}"
    user = orm.User(name=name)
    db.add(user)
    db.flush()
    # Whoever logs in gets this role; without it no token of the user may report activity.
    user.roles.append(role)
    token = secrets.token_hex(16)
    orm.APIToken.new(token=token, user=user, scopes=["users:activity!user"])
    print(name, token, file=tokens)
    resources = ResourceSettings().per_gpu.resources(1)
    session = Session.create(name, resources=resources, walltime_s=28800, token_id=0)
    session = session.changed(job_id=number, address=address, port=int(port), is_ready=True)
    server = orm.Server(proto="http", ip=address, port=int(port), base_url=f"/user/{name}/",
                        cookie_name=f"jupyterhub-user-{name}")
    db.add(server)
    db.add(orm.Spawner(name="", user=user, server=server, state=session.to_state(),
                       started=datetime.now(timezone.utc).replace(tzinfo=None)))
    values = {"JobID": number, "UserName": name, "State": "RUNNING", "BatchHost": "node01",
              "StartTime": "2026-01-01T00:00:00", "EndTime": "2046-01-01T00:00:00",
              "TimeLeft": "7:00:00", "RestartCnt": 0, "Name": session.job_name,
              "Comment": comment, "Reason": "None"}
    print("|".join(str(values[field]) for field in RECORDS.fields))
commit()
"""


@dataclass(frozen=True, kw_only=True)
class Many:
    """One hub with so many sessions.

    Attributes:
        take_up_s: Seconds from the start of a hub that was killed until all sessions are ready.
        take_up_cpu_s: CPU seconds of the hub and its commands up to then.
        cpu_cores: CPU time of the hub and its commands afterwards, as a share of one core.
        rss_mib: Resident memory of the hub in MiB.
        n_slurm_calls_per_min: Commands of Slurm that the hub ran; squeue is the only one.
    """

    n_sessions: int
    take_up_s: Rounds
    take_up_cpu_s: Rounds
    cpu_cores: Rounds
    rss_mib: float
    n_slurm_calls_per_min: float


class ManyHub(PrivateHub):
    """The portal's hub with the stand-in for squeue."""

    def __init__(self, n_sessions: int) -> None:
        super().__init__()
        self.n_sessions = n_sessions
        self.tokens_path = self.folder / "tokens"

    def config_text(self, server: Path, traits: Mapping[str, Any]) -> str:
        return super().config_text(server, traits) + _CONFIG.format(path=self.shared / "bin")

    def fill(self, port: int) -> None:
        """Write the sessions into the database of a hub that was started once and stopped."""
        done = subprocess.run(
            [
                *(str(ENVIRONMENTS / "hub/bin/python"), "-c", FILL),
                *(f"sqlite:///{self.folder}/hub.sqlite", str(self.folder / "cookie_secret")),
                *(ADDRESS, str(port), str(self.n_sessions), str(self.tokens_path)),
            ],
            env={"PYTHONPATH": str(self.shared / "package"), "PATH": "/usr/bin:/bin"},
            user=ACCOUNT,
            check=True,
            capture_output=True,
            text=True,
        )
        lines = self.shared / "lines"
        lines.write_text(done.stdout)
        bin_dir = self.shared / "bin"
        bin_dir.mkdir()
        (bin_dir / "squeue").write_text(_SQUEUE.format(lines=lines))
        (bin_dir / "squeue").chmod(0o755)

    def count_ready(self) -> int:
        """Return how many sessions are ready."""
        n_ready = 0
        for offset in range(0, self.n_sessions, _PAGE):
            users = self.rest("GET", f"/users?offset={offset}&limit={_PAGE}").json()
            n_ready += sum(bool(s["ready"]) for u in users for s in u.get("servers", {}).values())
        return n_ready

    def count_routes(self) -> int:
        """Return how many routes the proxy has; one of them is the hub's."""
        return len(self.routes())


def measure_many(n_sessions: int, n_rounds: int) -> Many:
    """Fill a hub's database, kill the hub and start it again several times, and watch it."""
    hub = ManyHub(n_sessions)
    try:
        with answering_server() as port:
            hub.start()
            hub.kill()
            hub.fill(port)
            # The proxy learns its routes now, as it would have when the sessions started.
            hub.start()
            eventually(lambda: hub.count_routes() > n_sessions, timeout_s=300, every_s=1)
            take_ups = [_take_up(hub) for _ in range(n_rounds)]
            many = _measure(hub, take_ups, n_rounds)
            # A session that the hub takes for over would cost work that no site has.
            assert hub.count_ready() == n_sessions
            return many
    finally:
        hub.close()


def _take_up(hub: ManyHub) -> tuple[float, float]:
    """Return the seconds and the CPU seconds of one restart."""
    hub.kill()
    before = time.monotonic()
    hub.start()
    # It opens its port when the sessions are taken up, so that looking hardly costs it time.
    eventually(lambda: hub.count_ready() == hub.n_sessions, timeout_s=300, every_s=0.2)
    took_s = time.monotonic() - before
    used_s = cpu_s(hub.pid)
    print(f"take-up of {hub.n_sessions}: {took_s:.1f} s, {used_s:.1f} s of CPU", flush=True)
    return took_s, used_s


def _measure(hub: ManyHub, take_ups: list[tuple[float, float]], n_rounds: int) -> Many:
    # The first looks and JupyterHub's own work after a start are over by then.
    time.sleep(SETTLE_S)
    calls = hub.shared / "bin/calls"
    script = hub.shared / "bin/squeue"
    calls.touch()
    calls.chmod(0o666)
    script.write_text(script.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\necho >> {calls}\n"))
    cores = []
    began = time.monotonic()
    with _reporting_activity(hub):
        for _ in range(n_rounds):
            cpu_before_s, before = cpu_s(hub.pid), time.monotonic()
            time.sleep(WINDOW_S)
            cores.append((cpu_s(hub.pid) - cpu_before_s) / (time.monotonic() - before))
    n_calls = len(calls.read_text().splitlines())
    many = Many(
        n_sessions=hub.n_sessions,
        take_up_s=Rounds([took_s for took_s, _ in take_ups], 2),
        take_up_cpu_s=Rounds([used_s for _, used_s in take_ups], 2),
        cpu_cores=Rounds(cores, 4),
        rss_mib=round(rss_mib(hub.pid), 1),
        n_slurm_calls_per_min=round(n_calls * 60 / (time.monotonic() - began), 1),
    )
    print(many, flush=True)
    return many


@contextmanager
def _reporting_activity(hub: ManyHub) -> Iterator[None]:
    """Report activity for each session in turn, each every `ACTIVITY_INTERVAL_S`."""
    tokens = [line.split() for line in hub.tokens_path.read_text().splitlines()]
    is_over = threading.Event()
    failures: list[int] = []

    def report() -> None:
        for name, token in itertools.cycle(tokens):
            if is_over.wait(ACTIVITY_INTERVAL_S / len(tokens)):
                return
            now = datetime.now(UTC).isoformat()
            body = {"last_activity": now, "servers": {"": {"last_activity": now}}}
            answer = hub.rest("POST", f"/users/{name}/activity", body, token=token)
            if not answer.ok:
                failures.append(answer.status_code)

    thread = threading.Thread(target=report)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    assert not failures, f"the hub refused reports of activity: {failures[:5]}"


class _Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


class _Server(http.server.ThreadingHTTPServer):
    # With the default of 5, a connection of many at once is lost now and then.
    request_queue_size = 128


@contextmanager
def answering_server(address: str = ADDRESS) -> Iterator[int]:
    server = _Server((address, 0), _Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
