"""Texts for the errors with which sbatch refuses a job."""

from __future__ import annotations

from spawner.diagnosis.messages import Words
from spawner.slurm.no_answer import UNAUTHENTICATED, UNREACHABLE

LATER = "Try again in a minute; if it does not help, ask the administrators."
_ADMIN = "Ask the administrators."

# Texts that sbatch prints and the words for them, the more telling texts first; upper and lower
# case do not matter. {partition} is " jupyter" or empty.
#
# Source: src/common/slurm_errno.c of Slurm 22.05 to 25.11, and what sbatch 22.05.8 printed
# (tests/unit/spawner/golden).
REJECTIONS: dict[tuple[str, ...], Words] = {
    ("Invalid account or account/partition combination",): (
        "Slurm knows no account under which you may use the partition{partition}.",
        "Ask the administrators to add you to a Slurm account.",
    ),
    ("invalid partition specified", "Invalid partition name"): (
        "The partition{partition} does not exist.",
        "Choose another partition.",
    ),
    ("No partition specified or system default partition",): (
        "No partition was chosen and Slurm has no default one.",
        "Choose a partition, or ask the administrators to set a default.",
    ),
    ("group not permitted to use this partition",): (
        "Your groups may not use the partition{partition}.",
        "Choose another partition, or ask the administrators.",
    ),
    ("Required partition not available", "Partition in DOWN state"): (
        "The partition{partition} takes no jobs now.",
        "Choose another partition, or try again later.",
    ),
    ("time limit is invalid",): (
        "The session asks for more time than the partition{partition} allows.",
        "Start again with fewer hours.",
    ),
    (
        "Invalid --time specification",
        "Invalid time limit spec",
        "Invalid time spec",
        "Time limit specification required",
    ): (
        "Slurm does not accept the length of the session.",
        "Start again with another number of hours.",
    ),
    ("Invalid qos specification", "Invalid QOS"): (
        "The quality of service (QOS) of this session does not exist for you.",
        "Start again without a QOS.",
    ),
    ("QOS usage threshold",): (
        "Your account has used more of the cluster than this quality of service (QOS) allows.",
        "Choose another QOS, or ask the administrators.",
    ),
    ("Access denied to requested reservation",): (
        "The reservation is for other users.",
        "Start again without a reservation.",
    ),
    ("reservation is invalid", "reservation not usable now", "Requested reservation is in use"): (
        "The reservation does not exist or cannot be used now.",
        "Start again without a reservation.",
    ),
    ("maintenance reservation",): (
        "The nodes are kept free for maintenance, which would begin before the session ends.",
        "Start again with fewer hours, so that it ends before.",
    ),
    (
        "Invalid generic resource",
        "Invalid GRES",
        "Invalid TRES",
        "Invalid Trackable",
        "Duplicate generic",
    ): (
        "The cluster has no GPUs of the type that was asked for.",
        "Start again without a GPU type, or choose another.",
    ),
    (
        "Memory specification can not be satisfied",
        "Memory required by task is not available",
        "MaxMemPerLimit",
    ): (
        "No node of the partition{partition} has as much memory as the session asks for.",
        "Start again with fewer GPUs.",
    ),
    (
        "CPU count per node can not be satisfied",
        "CPU count can not be satisfied",
        "CPU count specification invalid",
        "More processors requested",
        "RestrictedCoresPerGPU",
    ): (
        "No node of the partition{partition} has as many CPU cores as the session asks for.",
        "Start again with fewer GPUs.",
    ),
    ("Requested node configuration is not available", "topology configuration is not available"): (
        "No node of the partition{partition} has what the session asks for.",
        "Start again with fewer GPUs or without a GPU type.",
    ),
    ("Node count specification invalid", "Requested nodes not in this partition"): (
        "The session does not fit what the partition{partition} gives to one job.",
        "Start again with fewer GPUs or in another partition.",
    ),
    (
        "Required node not available",
        "Requested nodes are busy",
        "Requested partition configuration",
    ): (
        "The nodes that the session needs are not available now.",
        "Try again later, or choose another partition.",
    ),
    ("Invalid node name",): (
        "A node that the site asks for does not exist.",
        _ADMIN,
    ),
    ("Invalid feature", "Invalid preferred feature", "Invalid extra constraints"): (
        "No node has a feature that the site asks for.",
        _ADMIN,
    ),
    ("accounting/QOS policy",): (
        "A limit of your account or of its quality of service (QOS) does not allow this session.",
        "Start again with fewer GPUs or fewer hours, or stop another of your sessions.",
    ),
    ("QOS Preemption loop", "Invalid or unknown association"): (
        "Slurm's accounts are not set up for this session.",
        _ADMIN,
    ),
    ("burst buffer", "burst_buffer"): (
        "The fast storage (burst buffer) refused the session.",
        _ADMIN,
    ),
    ("Invalid license", "Licenses currently unavailable"): (
        "A license that the site asks for is not available.",
        _ADMIN,
    ),
    ("dependency problem", "Circular job dependency"): (
        "The session would wait for a job that cannot be waited for.",
        "Start again without a dependency.",
    ),
    ("submissions disabled", "submissions are disabled", "submission is disabled"): (
        "Slurm takes no new jobs now, most often because of maintenance.",
        "Try again later.",
    ),
    ("Rate limit exceeded",): (
        "Slurm is busy and asks for patience.",
        "Try again in a minute.",
    ),
    ("Unable to create job record", "Job update not available right now"): (
        "Slurm has as many jobs as it can hold.",
        LATER,
    ),
    ("I/O error writing script", "Pathname of a file, directory or other parameter too long"): (
        "Slurm could not store the job's script.",
        _ADMIN,
    ),
    (
        "Access/permission denied",
        "Invalid user id",
        "Missing UNIX user",
        "User not found on host",
    ): (
        "Slurm does not let you submit jobs.",
        "Ask the administrators whether your user is known on the head of the cluster.",
    ),
    UNREACHABLE: (
        "Slurm did not answer, so nothing is known about the session.",
        LATER,
    ),
    UNAUTHENTICATED: (
        "Slurm could not check who you are: its authentication service does not answer.",
        LATER,
    ),
    (
        "Incompatible versions",
        "Could not establish a configuration",
        "fetch_config",
        "Unable to process configuration file",
        "sbatch: not found",
    ): (
        "Slurm is not set up on the head of the cluster.",
        _ADMIN,
    ),
}
