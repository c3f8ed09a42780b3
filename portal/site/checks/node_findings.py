"""The check of a partition: a trial job, and what its answer means."""

from collections.abc import Mapping

from dsportal.amounts import MIB_PER_GIB
from dsportal.slurm.states import Phase
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import (
    Finding,
    Grade,
    Saying,
    ok,
    printable,
    problem,
    read_rows,
    skipped,
    warning,
)
from portal.site.checks.test_job import CheckJobResult, run_test_job
from spawner import __version__
from spawner.client.slurm import Slurm
from spawner.errors import JobRejectedError

MOST_CLOCK_S = 2.0
_PYTHON = (
    "Install that Python on the nodes, or run deploy/site/install with --python and one that this"
    " host and all nodes have under the same path, be it on the shared file system."
)
# By the first word of a row of `node_probe`: {0} is the second, {1} the third.
FAULTS: Mapping[str, Saying] = {
    "hub": (
        Grade.PROBLEM,
        "{node} does not reach the hub at {hub}: {1}.",
        "Start the hub, and let the firewall of this host accept that port from the nodes."
        " The address in [hub] has to be one that nodes can route to.",
    ),
    "home": (Grade.PROBLEM, "the home cannot be written on {node}: {1}.", "Mount it there."),
    "storage": (
        Grade.WARNING,
        "{0} is not usable on {node}: {1}.",
        "Mount it there, or correct its path in [storage].",
    ),
    "templates": (
        Grade.WARNING,
        "the templates {0} are not on {node}: {1}.",
        "Correct templates in [storage], or share that folder with the nodes.",
    ),
    # Sessions need the server's environment; they start without TensorBoard's.
    "server": (
        Grade.PROBLEM,
        "{0} does not load on {node}: {1}.",
        "Share it with the nodes, or correct server in [environments].",
    ),
    "tensorboard": (
        Grade.WARNING,
        "{0} does not load on {node}: {1}.",
        "Share it with the nodes, or correct tensorboard in [environments].",
    ),
    "server python": (Grade.PROBLEM, "{0} on {node} needs {1}.", _PYTHON),
    "tensorboard python": (Grade.WARNING, "{0} on {node} needs {1}.", _PYTHON),
    "version": (
        Grade.WARNING,
        f"{{0}} on {{node}} has version {{1}} of the portal, the hub {__version__}.",
        "Run deploy/site/install, which brings both to the same version.",
    ),
    "kernel": (Grade.WARNING, "the kernel {0} does not start on {node}: {1}.", "Build it again."),
    "kernel python": (
        Grade.WARNING,
        "the kernel {0} does not start on {node}: needs {1}.",
        _PYTHON,
    ),
    "workplace": (
        Grade.WARNING,
        "sshd and the free space are not known on {node}: {1}.",
        "Run the check again. Look at the file servers of the home and of the shared storage.",
    ),
    "sshd": (
        Grade.WARNING,
        "users may connect editors over ssh, but {node} has no sshd.",
        "Install Debian's openssh-server on the compute nodes (its daemon need not run), or set"
        " limit = 0 in [ssh].",
    ),
    # Source: jupyter-server-mcp 0.4.1, `mcp_port`.
    "mcp": (
        Grade.PROBLEM,
        "{0} on {node} listens on a fixed port without a login in each session: any user of the"
        " node could run code as another.",
        "Remove it: bin/pip uninstall jupyter-server-mcp in that environment. Agents of users'"
        " machines have dsportal mcp.",
    ),
    "space": (
        Grade.WARNING,
        "{0} on {node} has {1}: checkpoints will soon fill it.",
        "Free space there, or enlarge it.",
    ),
}


async def check_partition(
    slurm: Slurm, settings: Settings, *, user: str, partition: str, n_gpus: int, wait_s: float
) -> list[Finding]:
    """Run a trial job in a partition and judge what it found on its node.

    An empty `user` skips the check. The job may wait in the queue for `wait_s`.
    """
    if not user:
        return [
            skipped(f"no job was tried in {partition}.", "Name a user of the portal: --user NAME.")
        ]
    try:
        trial = await run_test_job(
            slurm,
            settings,
            user=user,
            partition=partition,
            n_gpus=n_gpus,
            wait_s=wait_s,
        )
    except JobRejectedError as error:
        return [problem(f"Slurm refuses a job of {user} in {partition}.", error.message)]
    return evaluate_test_job(trial, settings, partition=partition)


def evaluate_test_job(
    trial: CheckJobResult, settings: Settings, *, partition: str
) -> list[Finding]:
    """Return what the outcome of a trial job means; at least one finding."""
    if (silence := assess_silence(trial, partition)) is not None:
        return [silence]
    found = trial.found or {}
    node = job_node(trial, partition)
    hub = settings.hub
    faults = [
        *_network(trial, settings, node),
        *_clock(trial, node),
        *read_rows(
            found.get("faults"),
            FAULTS,
            node=node,
            hub=f"{hub.address}:{hub.api_port}",
        ),
    ]
    if faults:
        return faults
    space = describe_space(found.get("free_mib"))
    n_kernels = printable(found.get("n_kernels"))
    return [
        ok(
            f"{partition}: a job of {trial.key.user} ran on {node}, reached the hub and was reached"
            f" at {trial.address}; clock, storage, environments and {n_kernels} kernels are in"
            f" order{'; ' * bool(space)}{space}."
        )
    ]


def describe_space(free_mib: object) -> str:
    """Return `free_mib` in words, such as "/home/ada has 12.0 GiB free, /srv/isilon 900.5"."""
    free = free_mib.items() if isinstance(free_mib, dict) else ()
    known = [(printable(one), mib / MIB_PER_GIB) for one, mib in free if isinstance(mib, int)]
    words = [f"{folder} has {gib:.1f} GiB free" for folder, gib in known[:1]]
    return ", ".join([*words, *(f"{folder} {gib:.1f}" for folder, gib in known[1:])])


def job_node(trial: CheckJobResult, place: str) -> str:
    """Return the node of a trial job.

    Returns `place`, such as its partition, if it had none.
    """
    return trial.record.node if trial.record is not None and trial.record.node else place


def assess_silence(trial: CheckJobResult, place: str) -> Finding | None:
    """Return why a trial job reported nothing; None if it reported something.

    `place` is where it should run, such as its partition.
    """
    record = trial.record
    if record is not None and record.state.phase is Phase.WAITING:
        return skipped(
            f"the job did not start in {place} in time; Slurm says: {record.reason}.",
            "Allow more time with --wait SECONDS, or look at docs/reference/reasons.md.",
        )
    if trial.found is not None:
        return None
    node = job_node(trial, place)
    state = record.state.value if record is not None else "forgotten"
    last = trial.log.strip().splitlines()[-1:] or ["its log is empty"]
    return problem(
        f"job {trial.key.job_id} on {node} ended ({state}) without a word: {last[0]}.",
        f"Mount the home folders on {node}, so that Slurm can write the job's log there.",
    )


def _network(trial: CheckJobResult, settings: Settings, node: str) -> list[Finding]:
    hub, ports = settings.hub, settings.resources
    if taken := printable((trial.found or {}).get("port")):
        # Ports are drawn, so a neighbour's program may have it; that says nothing of firewalls.
        return [skipped(f"{trial.address} was in use: {taken}.", "Run the check again.")]
    if trial.was_reached:
        return []
    return [
        problem(
            f"the hub does not reach {trial.address or node} on {node}.",
            f"Let the firewall of the nodes accept ports {ports.port_min} to"
            f" {ports.port_max} (TCP) from {hub.address}.",
        )
    ]


def _clock(trial: CheckJobResult, node: str) -> list[Finding]:
    if trial.clock_s is None or abs(trial.clock_s) <= MOST_CLOCK_S:
        return []
    how = "ahead of" if trial.clock_s > 0 else "behind"
    return [
        warning(
            f"the clock of {node} is {abs(trial.clock_s):.0f} s {how} this host's.",
            "Run chrony or ntpd on both. munge refuses messages that are minutes off.",
        )
    ]
