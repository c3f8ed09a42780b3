"""A thousand running sessions in one hub: what they cost, and how soon a restart has them all.

The hub, its database, its watcher and the proxy are real. squeue is a stand-in that prints a line
for each session, and one small server answers for all of them: a thousand jobs do not fit here.
"""

from __future__ import annotations

import http.server
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.spawner.load import WINDOW_S, cpu_s, rss_mib
from tests.support.eventually import eventually
from tests.support.private_hub import ACCOUNT, ADDRESS, ENVIRONMENTS, PrivateHub

N_SESSIONS = 1000
_PAGE = 200

_CONFIG = """
import functools
from spawner.session import cluster
cluster.Slurm = functools.partial(cluster.Slurm, path="{path}:/usr/bin:/bin")
c.JupyterHub.log_level = "INFO"
"""

# A line for each job, with the mark that was asked for in front of each.
_SQUEUE = """\
#!/bin/sh
for word in "$@"; do
    case $word in --format=*) format=${{word#--format=}} ;; esac
done
exec sed "s/^/${{format%%|*}}|/" {lines}
"""

_FILL = """\
import sys
from datetime import datetime, timezone
from jupyterhub import orm
from spawner.slurm.jobs import RECORDS
from spawner.session.session import Session, comment_of, identify_hub
from spawner.slurm.resources import ResourcesPerGpu
url, secret_path, address, port, n_sessions = sys.argv[1:]
db = orm.new_session_factory(url)()
secret = bytes.fromhex(open(secret_path).read().strip())
comment = comment_of(identify_hub(secret))
fields = RECORDS.field_format.split("|")
for number in range(1, int(n_sessions) + 1):
    name = f"user{number:04d}"
    user = orm.User(name=name)
    db.add(user)
    resources = ResourcesPerGpu().resources(1)
    session = Session.create(name, resources=resources, walltime_s=28800, token_id=0)
    session = session.changed(job_id=number, address=address, port=int(port), is_ready=True)
    server = orm.Server(proto="http", ip=address, port=int(port), base_url=f"/user/{name}/",
                        cookie_name=f"jupyterhub-user-{name}")
    db.add(server)
    db.add(orm.Spawner(name="", user=user, server=server, state=session.to_state(),
                       started=datetime.now(timezone.utc).replace(tzinfo=None)))
    values = {"%A": number, "%u": name, "%T": "RUNNING", "%B": "node01", "%j": session.job_name,
              "%S": "2026-01-01T00:00:00", "%e": "2046-01-01T00:00:00", "%L": "7:00:00",
              "%k": comment, "%r": "None"}
    print("|".join(str(values[field]) for field in fields))
db.commit()
"""


@dataclass(frozen=True, kw_only=True)
class Thousand:
    """One hub with all these sessions.

    Attributes:
        take_up_s: Seconds from the start of a hub that was killed until all sessions are ready.
        cpu_cores: CPU time of the hub and its commands afterwards, as a share of one core.
        rss_mib: Resident memory of the hub in MiB.
        n_slurm_calls_per_min: Calls of squeue.
    """

    take_up_s: float
    cpu_cores: float
    rss_mib: float
    n_slurm_calls_per_min: float


class ManyHub(PrivateHub):
    """The portal's hub with the stand-in for squeue."""

    def config_text(self, server: Path, traits: Mapping[str, Any]) -> str:
        return super().config_text(server, traits) + _CONFIG.format(path=self.shared / "bin")

    def fill(self, port: int) -> None:
        """Write the sessions into the database of a hub that was started once and stopped.

        Args:
            port: Where their server answers.
        """
        done = subprocess.run(
            [
                *(str(ENVIRONMENTS / "hub/bin/python"), "-c", _FILL),
                *(f"sqlite:///{self.folder}/hub.sqlite", str(self.folder / "cookie_secret")),
                *(ADDRESS, str(port), str(N_SESSIONS)),
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
        for offset in range(0, N_SESSIONS, _PAGE):
            users = self.rest("GET", f"/users?offset={offset}&limit={_PAGE}").json()
            n_ready += sum(bool(s["ready"]) for u in users for s in u.get("servers", {}).values())
        return n_ready

    def count_routes(self) -> int:
        """Return how many routes the proxy has; one of them is the hub's."""
        return len(self.routes())


def measure_thousand() -> Thousand:
    """Fill a hub's database, kill the hub, start it again and watch it.

    Returns:
        What it took.
    """
    hub = ManyHub()
    try:
        with _server() as port:
            hub.start()
            hub.kill()
            hub.fill(port)
            # The proxy learns its routes now, as it would have when the sessions started.
            hub.start()
            eventually(lambda: hub.count_routes() > N_SESSIONS, timeout_s=300, every_s=1)
            hub.kill()
            before = time.monotonic()
            hub.start()
            eventually(lambda: hub.count_ready() == N_SESSIONS, timeout_s=300, every_s=0.2)
            take_up_s = time.monotonic() - before
            thousand = _measure(hub, take_up_s)
            # A session that the hub takes for over would cost work that no site has.
            assert hub.count_ready() == N_SESSIONS
            return thousand
    finally:
        hub.close()


def _measure(hub: ManyHub, take_up_s: float) -> Thousand:
    # The first looks and JupyterHub's own work after a start are over by then.
    time.sleep(WINDOW_S / 2)
    calls = hub.shared / "bin/calls"
    script = hub.shared / "bin/squeue"
    calls.touch()
    calls.chmod(0o666)
    script.write_text(script.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\necho >> {calls}\n"))
    cpu_before_s, before = cpu_s(hub.pid), time.monotonic()
    time.sleep(2 * WINDOW_S)
    took_s = time.monotonic() - before
    return Thousand(
        take_up_s=round(take_up_s, 2),
        cpu_cores=round((cpu_s(hub.pid) - cpu_before_s) / took_s, 4),
        rss_mib=round(rss_mib(hub.pid), 1),
        n_slurm_calls_per_min=round(len(calls.read_text().splitlines()) * 60 / took_s, 1),
    )


class _Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def _server() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer((ADDRESS, 0), _Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
