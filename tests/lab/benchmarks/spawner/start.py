"""From the request for a session to the first answer of its server, in five ways."""

import http.server
import json
import os
import pwd
import random
import re
import secrets
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import requests

from deploy.one_machine.layout import LOG_DIR
from spawner.slurm.job_script import JobPlan, build_job
from spawner.slurm.resources import ResourcesPerGpu
from tests.lab.benchmarks.rounds import Rounds
from tests.lab.benchmarks.spawner.hubs import (
    PORTAL_USER,
    SERVER_ENVIRONMENT,
    STOCK_USER,
    PortalHub,
    Server,
    StockHub,
)
from tests.support.eventually import eventually
from tests.support.private_hub import ADDRESS, free_ports
from tests.support.stand_in_server import Handler, serving

# slurmctld looks at new jobs this often, so that much of a start is chance.
SLURM_TICK_S = 1.0
POLL_S = 0.05
TIMEOUT_S = 180
NODE_ADDRESSES = ("10.77.0.11", "10.77.0.12")
SLURMCTLD_LOG = LOG_DIR / "slurmctld.log"
_MOMENT = r"^\[(?P<moment>[0-9T:.-]+)\] "
_SUBMITTED = re.compile(_MOMENT + r"_slurm_rpc_submit_batch_job: JobId=(?P<job>\d+)", re.M)
_STARTED = re.compile(
    _MOMENT + r"sched(?:/backfill)?: (?:_start_job: )?(?:Allocate|Started) JobId=(?P<job>\d+)", re.M
)


class Way(StrEnum):
    """A spawner with a server; the values are the columns of the report."""

    PORTAL = "portal, portal's server"
    PORTAL_STOCK_SERVER = "portal, JupyterHub's server"
    STOCK = "batchspawner, JupyterHub's server"
    STOCK_PORTAL_SERVER = "batchspawner, portal's server"
    BARE = "sbatch alone, portal's server"


@dataclass(frozen=True, slots=True)
class Start:
    """One start.

    Attributes:
        took_s: Seconds from the request to the first answer of the session's server.
        waited_s: Those of them for which the job waited for slurmctld's next look.
    """

    took_s: float
    waited_s: float


def measure_starts(n_rounds: int) -> dict[Way, Rounds]:
    """Start a session in each way, one after the other, several times.

    Returns:
        Seconds from the request to the first answer of the session's server, see `even_out`.
    """
    starts: dict[Way, list[Start]] = {way: [] for way in Way}
    with ExitStack() as stack:
        api_url = stack.enter_context(stand_in_hub())

        def hub(cls: type[PortalHub | StockHub], server: Server) -> PortalHub | StockHub:
            one = cls()
            stack.callback(one.close)
            one.serve(server)
            one.rest("POST", f"/users/{one.user}").raise_for_status()
            return one

        hubs = {
            Way.PORTAL: hub(PortalHub, Server.PORTAL),
            Way.PORTAL_STOCK_SERVER: hub(PortalHub, Server.STOCK),
            Way.STOCK: hub(StockHub, Server.STOCK),
            Way.STOCK_PORTAL_SERVER: hub(StockHub, Server.PORTAL),
        }
        ways = [*Way]
        # The first round warms the files of the servers up and is left out.
        for number in range(n_rounds + 1):
            first = number % len(ways)
            for way in [*ways[first:], *ways[:first]]:
                # Else each way would always begin at the same moment between two looks.
                time.sleep(random.uniform(0, SLURM_TICK_S))
                n_earlier = SLURMCTLD_LOG.stat().st_size
                one_s = _bare_start_s(api_url) if way is Way.BARE else _hub_start_s(hubs[way])
                waited_s = parse_wait_s(_log_since(n_earlier))
                if number:
                    starts[way].append(Start(one_s, waited_s))
                print(
                    f"start {number} of {n_rounds}, {way}: {one_s:.2f} s, {waited_s:.2f} s of it "
                    "in the queue",
                    flush=True,
                )
    return even_out(starts)


def even_out(starts: Mapping[Way, Sequence[Start]]) -> dict[Way, Rounds]:
    """Return the seconds of each start with the mean wait of all in place of its own.

    When slurmctld looks next is chance, up to a second for each start and the same for all ways:
    a mean for all leaves the differences between the ways as they are, and their spread small.
    """
    mean_s = statistics.fmean(start.waited_s for one in starts.values() for start in one)
    return {
        way: Rounds([start.took_s - start.waited_s + mean_s for start in one], 2)
        for way, one in starts.items()
    }


def parse_wait_s(log: str) -> float:
    """Return how long the one job in a log waited between its submission and its start, seconds.

    Source:
        slurmctld 22.05 with SlurmctldDebug=info; its log has milliseconds.
    """
    submitted, started = (
        {match["job"]: datetime.fromisoformat(match["moment"]) for match in form.finditer(log)}
        for form in (_SUBMITTED, _STARTED)
    )
    (job,) = submitted.keys() & started.keys()
    return (started[job] - submitted[job]).total_seconds()


def _log_since(n_bytes: int) -> str:
    with SLURMCTLD_LOG.open("rb") as file:
        file.seek(n_bytes)
        return file.read().decode(errors="replace")


def _hub_start_s(hub: PortalHub | StockHub) -> float:
    name = f"s{secrets.token_hex(4)}"
    path = f"/users/{hub.user}/servers/{name}"
    options = {} if isinstance(hub, StockHub) else {"gpus": 0}
    before = time.monotonic()
    threading.Thread(target=hub.rest, args=("POST", path, options)).start()
    took_s = _first_answer_s(before, lambda: [f"{hub.public_url}/user/{hub.user}/{name}/api"])
    hub.rest("DELETE", path, {"remove": True})
    eventually(lambda: not _jobs(), timeout_s=60)
    return took_s


def _bare_start_s(api_url: str) -> float:
    (port,) = free_ports(1)
    account = pwd.getpwnam(PORTAL_USER)
    base_url = f"/user/{PORTAL_USER}/bare/"
    environment = {
        "HOME": account.pw_dir,
        "USER": PORTAL_USER,
        "LOGNAME": PORTAL_USER,
        "SHELL": "/bin/bash",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PORTAL_SETTINGS": json.dumps({"resources": {"port_min": port, "port_max": port}}),
        "JUPYTERHUB_API_TOKEN": secrets.token_hex(16),
        "JUPYTERHUB_API_URL": api_url,
        "JUPYTERHUB_USER": PORTAL_USER,
        "JUPYTERHUB_SERVER_NAME": "bare",
        "JUPYTERHUB_SERVICE_PREFIX": base_url,
        "JUPYTERHUB_SERVICE_URL": f"http://127.0.0.1:0{base_url}",
        "JUPYTERHUB_BASE_URL": "/",
        "JUPYTERHUB_HOST": "",
        "JUPYTERHUB_CLIENT_ID": "jupyterhub-bare",
        "JUPYTERHUB_OAUTH_CALLBACK_URL": f"{base_url}oauth_callback",
        "JUPYTERHUB_DEFAULT_URL": "/lab",
    }
    job = build_job(
        JobPlan(
            job_name="dsportal-bare",
            comment="",
            resources=ResourcesPerGpu(cores_per_gpu=1, memory_mib_per_gpu=1024).resources(0),
            walltime_s=3600,
            server_argv=(str(SERVER_ENVIRONMENT / "bin/dsportal-singleuser"),),
        )
    )
    with tempfile.NamedTemporaryFile("w", prefix="bare-", suffix=".sh") as script:
        script.write(job.script)
        script.flush()
        os.chmod(script.name, 0o644)
        before = time.monotonic()
        job_id = subprocess.run(
            [
                *("sbatch", "--parsable", "--export=ALL", f"--chdir={account.pw_dir}"),
                *("--output=/dev/null", *job.argv, script.name),
            ],
            env=environment,
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        urls = [f"http://{address}:{port}{base_url}api" for address in NODE_ADDRESSES]
        took_s = _first_answer_s(before, lambda: urls)
    subprocess.run(["scancel", job_id], check=True)
    eventually(lambda: not _jobs(), timeout_s=60)
    return took_s


def _first_answer_s(before: float, urls: Callable[[], list[str]]) -> float:
    def has_answered() -> bool:
        for url in urls():
            try:
                answer = requests.get(url, timeout=5, allow_redirects=False)
            except requests.ConnectionError:
                continue
            if answer.status_code == 200 and "version" in answer.text:
                return True
        return False

    eventually(has_answered, timeout_s=TIMEOUT_S, every_s=POLL_S)
    return time.monotonic() - before


def _jobs() -> str:
    return subprocess.run(
        ["squeue", "-h", "-u", f"{PORTAL_USER},{STOCK_USER}"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


class _StandIn(Handler):
    """Says yes to everything, so that a server starts without a hub."""

    def do_GET(self) -> None:
        self.answer(200, {"version": "6.1.1", "name": "grace", "kind": "user", "scopes": []})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()


@contextmanager
def stand_in_hub() -> Iterator[str]:
    """Yield the address of an API that a server accepts as its hub's."""
    with serving(http.server.ThreadingHTTPServer((ADDRESS, 0), _StandIn)) as server:
        yield f"http://{ADDRESS}:{server.server_port}/hub/api"
