"""Texts for the reasons that keep a job pending.

Limits of accounts and of qualities of service are parsed by rule: see `limit_reasons`.
"""

from dsportal.diagnosis.messages import Words

_BY_ITSELF = "No action is needed: the {session} starts by itself."
_CANCEL_AND_ASK = "{cancel} and ask the administrators."
_TRY_AGAIN = "{retry}. If that does not help, ask the administrators."
_RELEASE = "{release}. If that does not help, ask the administrators."

# By Slurm's word, or by a name of ours if Slurm prints a sentence.
#
# Source: job_reason_codes.html of Slurm 25.11; squeue(1), JOB REASON CODES, of Slurm 22.05;
# docs/slurm-reasons.txt lists the words of every release from 22.05 to 25.11.
WAITING_REASONS: dict[str, Words] = {
    "None": (
        "The {session} is queued, and the scheduler has not considered it yet.",
        "No action is needed: this takes seconds, or minutes on a busy cluster.",
    ),
    "Priority": (
        "Other jobs are ahead of the {session} in the queue.",
        _BY_ITSELF + "{sooner|fewer_gpus|fewer_hours}",
    ),
    "Resources": (
        "The GPUs, cores or memory that the {session} needs are in use by other jobs.",
        _BY_ITSELF + "{sooner|fewer_gpus}",
    ),
    "Prolog": ("A node was found and is being prepared.", _BY_ITSELF),
    "Cleaning": ("Slurm is cleaning up after an earlier run of this job.", _BY_ITSELF),
    "BeginTime": (
        "The {session} is set to start at a later time.",
        "Wait until then, or {retry_instead} without a start time.",
    ),
    "Dependency": (
        "The {session} waits for another job to end.",
        "No action is needed: it starts by itself after that job.",
    ),
    "DependencyNeverSatisfied": (
        "The {session} waits for another job that can no longer end as required, so it will never "
        "start.",
        "{retry}.",
    ),
    "ReqNodeNotAvail": (
        "Nodes that the {session} needs are not available now.",
        _BY_ITSELF + " If it takes longer than you expect, ask the administrators.",
    ),
    "ReqNodeNotAvail, Reserved for maintenance": (
        "The nodes are reserved for maintenance that begins before the {session} would end.",
        "{retry|fewer_hours_to_end_before}.",
    ),
    "ReqNodeNotAvail, May be reserved for other job": (
        "The nodes that the {session} needs are reserved for another job.",
        _BY_ITSELF + "{sooner|fewer_hours}",
    ),
    "ReqNodeNotAvail, UnavailableNodes": (
        "Nodes on which the {session} could run are down: {nodes}.",
        "Ask the administrators when they come back.",
    ),
    "Nodes required": (
        "The nodes that the {session} needs are down, drained{rebooting} or reserved for jobs in "
        "partitions of higher priority.",
        _BY_ITSELF + " If it takes longer than you expect, ask the administrators.",
    ),
    "NodeDown": (
        "A node that the {session} needs is down.",
        "Ask the administrators when it comes back.",
    ),
    "FrontEndDown": (
        "The part of the cluster that starts jobs is down.",
        "Ask the administrators when it comes back.",
    ),
    "PartitionDown": (
        "The partition{partition} is down: it is not starting any jobs.",
        _BY_ITSELF + " Ask the administrators when it will be back.",
    ),
    "PartitionInactive": (
        "The partition{partition} is inactive: it neither accepts nor starts jobs.",
        "{cancel} and {choose|other_partition}.",
    ),
    "PartitionNodeLimit": (
        "The {session} asks for more nodes than the partition{partition} gives one job, or its "
        "nodes are down.",
        "{retry|fewer_gpus}.",
    ),
    "PartitionTimeLimit": (
        "The {session} asks for more time{asked_time} than the partition{partition} "
        "allows{most_time}.",
        "{retry|fewer_hours}.",
    ),
    "PartitionConfig": (
        "The {session} does not meet the requirements of the partition{partition}.",
        "{retry|fewer_gpus|fewer_hours|other_partition}.",
    ),
    "MaxMemPerLimit": (
        "The {session} asks for more memory than one job may have in the partition{partition}.",
        "{retry|fewer_gpus}.",
    ),
    "BadConstraints": (
        "No node of the cluster has what the {session} asks for, so it will never start.",
        "{retry|fewer_gpus|no_type}.",
    ),
    "Constraints": (
        "No node that is up now has what the {session} asks for.",
        _BY_ITSELF + " If it takes longer than you expect, ask the administrators.",
    ),
    "JobHeldAdmin": (
        "An administrator put the {session} on hold.",
        "Ask the administrators why and until when.",
    ),
    "JobHeldUser": (
        "The job was put on hold, by you or by Slurm after a failed start.",
        "{release}.",
    ),
    "JobHoldMaxRequeue": (
        "Slurm gave up on the {session} because it failed to start several times.",
        _CANCEL_AND_ASK,
    ),
    "held after launch failure": (
        "A node was found, but the {session} could not be started on it, so Slurm put it on hold.",
        _RELEASE,
    ),
    "held after environment failure": (
        "Your login environment could not be set up on the node, so Slurm put the {session} on "
        "hold.",
        _RELEASE,
    ),
    "requeued and held": (
        "The job was put back in the queue, on hold.",
        "{release}.",
    ),
    "reservation ended": (
        "The reservation that the {session} uses has ended.",
        "{retry} without a reservation.",
    ),
    "Reservation": (
        "The reservation that the {session} uses has not begun or is full.",
        "Wait until it begins, or {retry_instead} without it.",
    ),
    "ReservationDeleted": (
        "The reservation that the {session} uses was deleted.",
        "{retry} without a reservation.",
    ),
    "ReservationInvalid": (
        "The {session} cannot use the reservation that it names.",
        "{retry} without a reservation.",
    ),
    "Licenses": ("All licenses of a program that the {session} asks for are in use.", _BY_ITSELF),
    "InvalidAccount": (
        "Slurm does not allow you to use the account of this {session}.",
        _CANCEL_AND_ASK,
    ),
    "InvalidQOS": (
        "The quality of service (QOS) of this {session} does not exist, or you may not use it.",
        "{retry} without a QOS.",
    ),
    "QOSNotAllowed": (
        "The quality of service (QOS) of this {session} may not be used with its account or "
        "partition.",
        "{cancel} and {choose|other_qos|other_partition}.",
    ),
    "AccountNotAllowed": (
        "Your account may not use the partition{partition}.",
        "{cancel} and {choose|other_partition|other_account}.",
    ),
    "not in group": (
        "Your groups may not use the partition{partition}.",
        "{cancel} and {choose|other_partition}.",
    ),
    "QOSUsageThreshold": (
        "Your account has used more of the cluster than the quality of service (QOS) of this "
        "{session} allows.",
        "{cancel} and choose another QOS, or ask the administrators.",
    ),
    "AccountingPolicy": (
        "A limit of your account or of its quality of service (QOS) has been reached.",
        "Stop another of your sessions or jobs. This {session} then starts by itself.",
    ),
    "AssociationJobLimit": (
        "Your account has reached its limit on jobs.",
        "Stop another of your sessions or jobs. This {session} then starts by itself.",
    ),
    "AssociationResourceLimit": (
        "Your account has reached a limit on GPUs, cores or memory.",
        "Stop another of your sessions or jobs. This {session} then starts by itself.",
    ),
    "AssociationTimeLimit": (
        "The {session} asks for more time than your account allows, or its time is used up.",
        "{retry|fewer_hours}.",
    ),
    "QOSJobLimit": (
        "The quality of service (QOS) of this {session} has reached its limit on jobs.",
        "No action is needed: the {session} starts by itself when enough of them end.",
    ),
    "QOSResourceLimit": (
        "The quality of service (QOS) of this {session} has reached a limit on GPUs, cores or "
        "memory.",
        "No action is needed: the {session} starts by itself when enough jobs end.",
    ),
    "QOSTimeLimit": (
        "The {session} asks for more time than its quality of service (QOS) allows, or that time "
        "is used up.",
        "{retry|fewer_hours}.",
    ),
    "DeadLine": (
        "The {session} can no longer end before the deadline that was set for it.",
        "{retry}.",
    ),
    "MaxPoweredUpNodes": (
        "The site has as many nodes powered up as it allows at once.",
        "No action is needed: the {session} starts by itself when other jobs end.",
    ),
    "PowerNotAvail": ("There is not enough power for more jobs now.", _BY_ITSELF),
    "PowerReserved": ("The power that the {session} needs is reserved for other jobs.", _BY_ITSELF),
    "MpiPortsBusy": ("All network ports that the {session} needs are in use.", _BY_ITSELF),
    "NvidiaImexChannels": ("All GPU memory-sharing channels (IMEX) are in use.", _BY_ITSELF),
    "SchedDefer": ("The cluster is busy, so jobs start a little later.", _BY_ITSELF),
    "FedJobLock": ("The clusters are agreeing on which of them starts the {session}.", _BY_ITSELF),
    "JobArrayTaskLimit": (
        "The job array already runs as many tasks as it allows at once.",
        _BY_ITSELF,
    ),
    "BurstBufferResources": ("All space on the fast storage is in use.", _BY_ITSELF),
    "BurstBufferStageIn": ("Files are being copied to the fast storage.", _BY_ITSELF),
    "BurstBufferOperation": (
        "The fast storage (burst buffer) failed for this {session}.",
        _CANCEL_AND_ASK,
    ),
    "BlockFreeAction": ("A part of the cluster is being freed for the {session}.", _BY_ITSELF),
    "BlockMaxError": (
        "A part of the cluster had too many errors to start the {session}.",
        _CANCEL_AND_ASK,
    ),
    "SystemFailure": ("Slurm or a part of the cluster failed.", _CANCEL_AND_ASK),
    "JobLaunchFailure": ("The {session} could not be started on its node.", _TRY_AGAIN),
    "NonZeroExitCode": ("An earlier run of this job ended with an error.", _TRY_AGAIN),
    "RaisedSignal": ("An earlier run of this job was ended by a signal.", _TRY_AGAIN),
    "OutOfMemory": (
        "An earlier run of this job used more memory than it had.",
        "{retry} with {more_memory}.",
    ),
    "TimeLimit": ("An earlier run of this job reached its time limit.", _TRY_AGAIN),
    "InactiveLimit": ("An earlier run of this job was stopped because it was idle.", _TRY_AGAIN),
}
