"""Checks Slurm: it answers, its release is known, it counts GPUs, and the hub sees all jobs."""

import re
from collections.abc import Mapping

from dsportal.amounts import count
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, ok, problem, skipped, warning
from spawner.client.slurm import Slurm
from spawner.errors import SlurmError
from spawner.slurm.catalog import Catalog, Partition

OLDEST_RELEASE = (22, 5)
# The newest whose output the parsers were written for.
NEWEST_RELEASE = (25, 11)
# A switch that restarts takes a minute; Slurm asks a node thrice in this time.
LEAST_SLURMD_TIMEOUT_S = 120
MOST_SKEW_S = 2.0
# scontrol writes "300 sec".
_SECONDS = re.compile(r"(\d+)")
_RELEASE = re.compile(r"(\d+)\.(\d+)")


async def check_slurm(slurm: Slurm) -> list[Finding]:
    """Check that slurmctld answers, its release, and how long it waits for a node."""
    config = await slurm.read_config()
    return [*assess_release(config.get("SLURM_VERSION", "")), *assess_patience(config)]


def assess_release(version: str) -> list[Finding]:
    """Return whether the portal supports a release of Slurm, such as "22.05.8"."""
    match = _RELEASE.match(version)
    if match is None:
        return [warning(f"answers, with an unknown release {version!r}.", "Try a session.")]
    release = (int(match[1]), int(match[2]))
    if release < OLDEST_RELEASE:
        return [problem(f"{version} is older than 22.05.", "Upgrade Slurm to 22.05 or newer.")]
    if release > NEWEST_RELEASE:
        return [
            warning(
                f"{version} is newer than 25.11, the latest that the portal was written for.",
                "Try a session on each partition before users do.",
            )
        ]
    return [ok(f"{version} answers.")]


def assess_patience(config: Mapping[str, str]) -> list[Finding]:
    """Return whether sessions outlive a node that is unreachable for a minute.

    `config` is slurm.conf by key.

    Source:
        slurm.conf(5), SlurmdTimeout: 300 s by default, 0 for ever.
    """
    match = _SECONDS.match(config.get("SlurmdTimeout", ""))
    if match is None or int(match[1]) == 0 or int(match[1]) >= LEAST_SLURMD_TIMEOUT_S:
        return []
    return [
        warning(
            f"SlurmdTimeout is {match[1]} s: a node without network for that long loses all of its"
            " sessions.",
            "Set SlurmdTimeout=300 in slurm.conf, then: scontrol reconfigure",
        )
    ]


async def check_clock(slurm: Slurm) -> list[Finding]:
    """Compare this host's clock with that of slurmctld's host."""
    return assess_clock(await slurm.read_clock_ahead_s())


def assess_clock(ahead_s: float | None) -> list[Finding]:
    """Return whether two clocks agree well enough.

    Args:
        ahead_s: Seconds by which this host's is ahead of slurmctld's; None if unknown.
    """
    if ahead_s is None:
        return [skipped("Slurm does not say what time its clock shows.")]
    if abs(ahead_s) <= MOST_SKEW_S:
        return [ok("this host and slurmctld's show the same time.")]
    how = "ahead of" if ahead_s > 0 else "behind"
    return [
        warning(
            f"the clock of this host is {abs(ahead_s):.0f} s {how} slurmctld's; sessions show"
            " and pages show times that are wrong by as much.",
            "Let chrony or systemd-timesyncd set both clocks, and give both the same time zone.",
        )
    ]


async def check_private_data(slurm: Slurm) -> list[Finding]:
    """Check whether Slurm hides jobs or nodes from the hub."""
    # One sentence on what is hidden, then the cure.
    sentence, _, cure = (await slurm.explain_hidden()).partition(". ")
    if sentence:
        return [problem(f"{sentence}.", cure)]
    return [ok("the hub sees all jobs and nodes.")]


async def check_accounting(slurm: Slurm) -> list[Finding]:
    """Check that Slurm accounts for jobs and for GPUs."""
    config = await slurm.read_config()
    if "slurmdbd" not in config.get("AccountingStorageType", ""):
        return assess_accounting(config)
    try:
        # Asked for the answer only: slurm.conf does not tell whether slurmdbd runs.
        await slurm.accounting.read_associations()
    except SlurmError as error:
        return [
            warning(
                "slurmdbd does not answer, so ends, limits and GPU hours are unknown meanwhile.",
                f"Start slurmdbd. It said: {error.stderr.strip() or error.message}",
            )
        ]
    return assess_accounting(config)


def assess_accounting(config: Mapping[str, str]) -> list[Finding]:
    """Return what the accounting configuration lacks.

    `config` is slurm.conf by key.
    """
    if "slurmdbd" not in config.get("AccountingStorageType", ""):
        return [
            warning(
                "there is none, so limits of accounts and GPU hours are not shown, and a job that"
                " Slurm has forgotten counts as ended after a minute.",
                "Set AccountingStorageType=accounting_storage/slurmdbd in slurm.conf.",
            )
        ]
    counted = config.get("AccountingStorageTRES", "").split(",")
    if "gres/gpu" not in counted:
        return [
            warning(
                "GPUs are not counted, so the home page shows no GPU hours.",
                "Add gres/gpu to AccountingStorageTRES in slurm.conf and restart slurmctld.",
            )
        ]
    return [ok("slurmdbd answers, and GPUs are counted.")]


async def check_partitions(slurm: Slurm, settings: Settings) -> list[Finding]:
    """Compare what the settings offer with what Slurm has."""
    return assess_offer(await slurm.read_catalog(), settings)


def assess_offer(catalog: Catalog, settings: Settings) -> list[Finding]:
    """Return which offers of the site the cluster cannot keep."""
    findings = []
    for name in settings.partitions:
        partition = catalog.partitions.get(name)
        if partition is None:
            have = ", ".join(sorted(catalog.partitions)) or "none"
            findings.append(
                problem(
                    f"{name} is offered, but Slurm has no such partition.",
                    f"Correct [partitions.{name}]. Slurm has: {have}.",
                )
            )
        else:
            findings.append(_assess_partition(partition, catalog, settings))
    known = {kind for name in settings.partitions for kind in _types(catalog, name)}
    for kind in settings.choices.gpu_types:
        if kind not in known:
            have = ", ".join(sorted(known)) or "no types"
            findings.append(
                problem(
                    f"the GPU type {kind} is offered, but no offered partition has it.",
                    f"Correct gpu_types in [choices], or gres.conf. The partitions have: {have}.",
                )
            )
    return findings


def _types(catalog: Catalog, name: str) -> tuple[str, ...]:
    return catalog.gpu_types(name) if name in catalog.partitions else ()


def _assess_partition(partition: Partition, catalog: Catalog, settings: Settings) -> Finding:
    name = partition.name
    if not partition.is_up:
        return problem(f"{name} starts no jobs.", f"scontrol update partition={name} state=up")
    n_gpus = catalog.count_gpus(name).total
    if n_gpus == 0 and not settings.choices.allow_cpu_only:
        return problem(
            f"{name} has no GPU, and sessions without one are not offered.",
            "Name its GPUs in gres.conf and in the nodes' Gres=, or set allow_cpu_only = true.",
        )
    longest_s, asked_s = partition.max_walltime_s, settings.resources.walltime_s
    if longest_s is not None and longest_s < asked_s:
        return warning(
            f"{name} ends jobs after {longest_s / 3600:g} h; a session is {asked_s / 3600:g} h.",
            f"Lower session_hours, or: scontrol update partition={name} maxtime=...",
        )
    kinds = [kind for kind in catalog.gpu_types(name) if kind]
    simulated = "simulated " if settings.site.simulated_gpus else ""
    n_down = catalog.count_gpus(name).down
    gpus, nodes = count(n_gpus, f"{simulated}GPU"), count(len(partition.nodes), "node")
    sentence = f"{name} has {gpus} on {nodes}"
    sentence += f" ({', '.join(kinds)})" * bool(kinds)
    if n_gpus and n_down == n_gpus:
        return problem(f"{sentence}, all of them unavailable.", "sinfo -R says why.")
    return ok(f"{sentence}.")
