"""Findings from trial jobs about a partition's nodes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsportal.slurm.states import Phase
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, ok, problem, skipped, warning
from portal.site.checks.node_probe import NEEDS, VERSION
from portal.site.checks.test_job import CheckJobResult, run_test_job
from portal.site.checks.workplace_findings import (
    assess_workplace,
    describe_space,
    read_left_out,
)
from spawner import __version__
from spawner.client.slurm import Slurm
from spawner.errors import JobRejectedError

MOST_CLOCK_S = 2.0
PYTHON_CURE = (
    "Install that Python on the nodes, or run deploy/site/install with --python and one that this"
    " host and all nodes have under the same path, be it on the shared file system."
)


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
            slurm, settings, user=user, partition=partition, n_gpus=n_gpus, wait_s=wait_s
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
    faults = [
        *_network(trial, settings, node),
        *_clock(trial, node),
        *_storage(found, settings, node),
        *_environments(found, settings, node),
        *assess_workplace(
            found.get("workplace"), settings, node, left_out=read_left_out(Path(sys.prefix))
        ),
    ]
    seen = f"{partition}: a job of {trial.key.user} ran on {node}"
    if faults:
        return faults
    space = describe_space(found.get("workplace"))
    return [
        ok(
            f"{seen}, reached the hub and was reached at {trial.address}; clock, storage,"
            f" environments, {len(found.get('kernels', {}))} kernels and the data of the templates"
            f" are in order{'; ' * bool(space)}{space}."
        )
    ]


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
    findings = []
    said = _said(trial.found, "hub")
    if said:
        findings.append(
            problem(
                f"{node} does not reach the hub at {hub.address}:{hub.api_port}: {said}.",
                "Start the hub, and let the firewall of this host accept that port from the nodes. "
                "The address in [hub] has to be one that nodes can route to.",
            )
        )
    taken = _said(trial.found, "port")
    if taken:
        # Ports are drawn, so a neighbour's program may have it; that says nothing of firewalls.
        return [*findings, skipped(f"{trial.address} was in use: {taken}.", "Run the check again.")]
    if not trial.was_reached:
        findings.append(
            problem(
                f"the hub does not reach {trial.address or node} on {node}.",
                f"Let the firewall of the nodes accept ports {ports.port_min} to"
                f" {ports.port_max} (TCP) from {hub.address}.",
            )
        )
    return findings


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


def _storage(found: Mapping[str, Any], settings: Settings, node: str) -> list[Finding]:
    storage = settings.storage
    findings = []
    if said := _said(found, "home"):
        findings.append(
            problem(f"the home cannot be written on {node}: {said}.", "Mount it there.")
        )
    findings += [
        warning(
            f"{place.path} is not usable on {node}: {said}.",
            f"Mount it there, or correct the path of {place.name} in [storage].",
        )
        for place in settings.places
        if (said := _said(found, f"storage {place.name}"))
    ]
    if said := _said(found, "templates"):
        findings.append(
            warning(
                f"the templates {storage.templates} are not on {node}: {said}.",
                "Correct templates in [storage], or share that folder with the nodes.",
            )
        )
    return findings


def _environments(found: Mapping[str, Any], settings: Settings, node: str) -> list[Finding]:
    findings = []
    paths = {
        "server": settings.environments.server,
        "tensorboard": settings.environments.tensorboard,
    }
    for name, path in paths.items():
        said = _said(found, f"environment {name}")
        if said.startswith(NEEDS):
            # Sessions need the server's environment; they start without TensorBoard's.
            worse = problem if name == "server" else warning
            findings.append(worse(f"{path} on {node} {said}.", PYTHON_CURE))
        elif not said.startswith(VERSION):
            findings.append(
                (problem if name == "server" else warning)(
                    f"{path} does not load on {node}: {said or 'no answer'}.",
                    f"Share it with the nodes, or correct {name} in [environments].",
                )
            )
        elif said.removeprefix(VERSION) != __version__:
            findings.append(
                warning(
                    f"{path} on {node} has version {said.removeprefix(VERSION)} of the portal, the"
                    f" hub {__version__}.",
                    "Run deploy/site/install, which brings both to the same version.",
                )
            )
    kernels = found.get("kernels")
    if isinstance(kernels, Mapping):
        findings += [
            warning(
                f"the kernel {name} does not start on {node}: {said}.",
                PYTHON_CURE if str(said).startswith(NEEDS) else "Build it again.",
            )
            for name, said in kernels.items()
            if said
        ]
    return findings


def _said(found: Mapping[str, Any] | None, name: str) -> str:
    # The job ran as a user, who could have printed anything.
    return str((found or {}).get(name, ""))[:300]
