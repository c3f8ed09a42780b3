"""Texts for the errors with which sbatch refuses a job."""

from dsportal.diagnosis.messages import Words
from dsportal.slurm.no_answer import UNAUTHENTICATED, UNREACHABLE

LATER = "Try again in a minute. If that does not help, ask the administrators."
_ADMIN = "Ask the administrators."

# Texts that sbatch prints and the words for them, the more telling texts first; upper and lower
# case do not matter. {partition} is " jupyter" or empty.
#
# Source: src/common/slurm_errno.c of Slurm 22.05 to 25.11, and what sbatch 22.05.8 printed
# (tests/unit/spawner/golden).
REJECTIONS: dict[tuple[str, ...], Words] = {
    ("Invalid account or account/partition combination",): (
        "Slurm has no account with which you may use the partition{partition}.",
        "Ask the administrators to add you to a Slurm account.",
    ),
    ("invalid partition specified", "Invalid partition name"): (
        "The partition{partition} does not exist.",
        "{choose|other_partition}.",
    ),
    ("No partition specified or system default partition",): (
        "No partition was chosen, and Slurm has no default partition.",
        "Choose a partition, or ask the administrators to set a default.",
    ),
    ("group not permitted to use this partition",): (
        "Your groups may not use the partition{partition}.",
        "{choose|other_partition}.",
    ),
    ("Required partition not available", "Partition in DOWN state"): (
        "The partition{partition} is not accepting jobs.",
        "Try again later{or_choose|other_partition}.",
    ),
    ("time limit is invalid",): (
        "The {session} asks for more time than the partition{partition} allows.",
        "{again|fewer_hours}.",
    ),
    (
        "Invalid --time specification",
        "Invalid time limit spec",
        "Invalid time spec",
        "Time limit specification required",
    ): (
        "Slurm does not accept the time limit of the {session}.",
        "{again} with another number of hours.",
    ),
    ("Invalid qos specification", "Invalid QOS"): (
        "The quality of service (QOS) of this {session} does not exist, or you may not use it.",
        "{again} without a QOS.",
    ),
    ("QOS usage threshold",): (
        "Your account has used more of the cluster than this quality of service (QOS) allows.",
        "Choose another QOS, or ask the administrators.",
    ),
    ("Access denied to requested reservation",): (
        "The reservation is for other users.",
        "{again} without a reservation.",
    ),
    ("reservation is invalid", "reservation not usable now", "Requested reservation is in use"): (
        "The reservation does not exist or cannot be used now.",
        "{again} without a reservation.",
    ),
    ("maintenance reservation",): (
        "The nodes are reserved for maintenance that begins before the {session} would end.",
        "{again|fewer_hours_to_end_before}.",
    ),
    (
        "Invalid generic resource",
        "Invalid GRES",
        "Invalid TRES",
        "Invalid Trackable",
        "Duplicate generic",
    ): (
        "The cluster has no GPUs of the type that you asked for.",
        "{again|no_type|other_type}.",
    ),
    (
        "Memory specification can not be satisfied",
        "Memory required by task is not available",
        "MaxMemPerLimit",
    ): (
        "No node of the partition{partition} has as much memory as the {session} asks for.",
        "{again|fewer_gpus}.",
    ),
    (
        "CPU count per node can not be satisfied",
        "CPU count can not be satisfied",
        "CPU count specification invalid",
        "More processors requested",
        "RestrictedCoresPerGPU",
    ): (
        "No node of the partition{partition} has as many CPU cores as the {session} asks for.",
        "{again|fewer_gpus}.",
    ),
    ("Requested node configuration is not available", "topology configuration is not available"): (
        "No node of the partition{partition} has what the {session} asks for.",
        "{again|fewer_gpus|no_type}.",
    ),
    ("Node count specification invalid", "Requested nodes not in this partition"): (
        "The {session} asks for more nodes than the partition{partition} gives one job.",
        "{again|fewer_gpus|other_partition}.",
    ),
    (
        "Required node not available",
        "Requested nodes are busy",
        "Requested partition configuration",
    ): (
        "The nodes that the {session} needs are not available now.",
        "Try again later{or_choose|other_partition}.",
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
        "A limit of your account or of its quality of service (QOS) does not allow this {session}.",
        "Stop another of your sessions or jobs{or_again|fewer_gpus|fewer_hours}.",
    ),
    ("QOS Preemption loop", "Invalid or unknown association"): (
        "Slurm's accounts are not set up for this {session}.",
        _ADMIN,
    ),
    ("burst buffer", "burst_buffer"): (
        "The fast storage (burst buffer) refused the {session}.",
        _ADMIN,
    ),
    ("Invalid license", "Licenses currently unavailable"): (
        "A license that the site asks for is not available.",
        _ADMIN,
    ),
    ("dependency problem", "Circular job dependency"): (
        "The {session} depends on a job that it cannot wait for.",
        "{again} without a dependency.",
    ),
    ("submissions disabled", "submissions are disabled", "submission is disabled"): (
        "Slurm is not accepting new jobs, usually because of maintenance.",
        "Try again later.",
    ),
    ("Rate limit exceeded",): (
        "Slurm is busy and limits how fast you may submit jobs.",
        "Try again in a minute.",
    ),
    ("Unable to create job record", "Job update not available right now"): (
        "Slurm's queue is full.",
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
        "Slurm does not allow you to submit jobs.",
        "Ask the administrators whether your account exists on the cluster's head node.",
    ),
    UNREACHABLE: (
        "Slurm is not responding, so nothing is known about the {session}.",
        LATER,
    ),
    UNAUTHENTICATED: (
        "Slurm could not check who you are: its authentication service is not responding.",
        LATER,
    ),
    (
        "Incompatible versions",
        "Could not establish a configuration",
        "fetch_config",
        "Unable to process configuration file",
        "sbatch: not found",
    ): (
        "Slurm is not set up on the cluster's head node.",
        _ADMIN,
    ),
}
SILENT_REJECTION: Words = ("Slurm refused the {session} without giving a reason.", LATER)
UNKNOWN_REJECTION: Words = (
    "Slurm refused the {session}: {said}.",
    "Change your request if this says how, or show it to the administrators.",
)
