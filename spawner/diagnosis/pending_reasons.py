"""Texts for the reasons that keep a job pending.

Limits of accounts and of qualities of service are parsed by rule: see `limits`.
"""

from __future__ import annotations

from spawner.diagnosis.messages import Words

_BY_ITSELF = "No action is needed: the session starts by itself."
_CANCEL = "Cancel this start"
_ASK = "and ask the administrators."
_HELD = f"{_CANCEL} and start again; if that does not help, ask the administrators."

# By Slurm's word, or by a name of ours if Slurm prints a sentence.
#
# Source: job_reason_codes.html of Slurm 25.11; squeue(1), JOB REASON CODES, of Slurm 22.05;
# docs/slurm-reasons.txt lists the words of every release from 22.05 to 25.11.
WAITING_REASONS: dict[str, Words] = {
    "None": (
        "The session is in the queue and the scheduler has not looked at it yet.",
        "No action is needed: this takes seconds, or minutes on a busy cluster.",
    ),
    "Priority": (
        "Other jobs are ahead of the session in the queue.",
        f"{_BY_ITSELF} A session with fewer GPUs or fewer hours often starts earlier.",
    ),
    "Resources": (
        "All GPUs, cores or memory that the session needs are taken at the moment.",
        f"{_BY_ITSELF} A session with fewer GPUs often starts earlier.",
    ),
    "Prolog": ("A node was found and is being prepared.", _BY_ITSELF),
    "Cleaning": ("Slurm cleans up after an earlier run of this job.", _BY_ITSELF),
    "BeginTime": (
        "The session is set to start at a later time.",
        "Wait until then, or cancel it and start a session without a start time.",
    ),
    "Dependency": (
        "The session waits for another job to end.",
        "No action is needed: it starts by itself after that job.",
    ),
    "DependencyNeverSatisfied": (
        "The session waits for another job that can no longer end as required, so it never starts.",
        f"{_CANCEL} and start again.",
    ),
    "ReqNodeNotAvail": (
        "Nodes that the session needs are not available now.",
        f"{_BY_ITSELF} If it takes longer than you expect, ask the administrators.",
    ),
    "ReqNodeNotAvail, Reserved for maintenance": (
        "The nodes are kept free for maintenance, which would begin before the session ends.",
        f"{_CANCEL} and start again with fewer hours, so that it ends before.",
    ),
    "ReqNodeNotAvail, May be reserved for other job": (
        "The nodes that the session needs are kept for another job.",
        f"{_BY_ITSELF} A session with fewer hours often starts earlier.",
    ),
    "ReqNodeNotAvail, UnavailableNodes": (
        "Nodes that could take the session are down: {nodes}.",
        "Ask the administrators when they come back.",
    ),
    "Nodes required": (
        "The nodes that the session needs are down, taken out of service{rebooting} or kept for "
        "jobs of more important partitions.",
        f"{_BY_ITSELF} If it takes longer than you expect, ask the administrators.",
    ),
    "NodeDown": (
        "A node that the session needs is down.",
        "Ask the administrators when it comes back.",
    ),
    "FrontEndDown": (
        "The part of the cluster that starts jobs is down.",
        "Ask the administrators when it comes back.",
    ),
    "PartitionDown": (
        "The partition{partition} is closed: it starts no jobs now.",
        f"{_BY_ITSELF} Ask the administrators when it opens.",
    ),
    "PartitionInactive": (
        "The partition{partition} is switched off: it takes and starts no jobs now.",
        f"{_CANCEL} and choose another partition, or ask the administrators.",
    ),
    "PartitionNodeLimit": (
        "The session does not fit what the partition{partition} gives to one job, or its nodes are "
        "down.",
        f"{_CANCEL} and start again with fewer GPUs.",
    ),
    "PartitionTimeLimit": (
        "The session asks for more time{asked_time} than the partition{partition} "
        "allows{most_time}.",
        f"{_CANCEL} and start again with fewer hours.",
    ),
    "PartitionConfig": (
        "The session does not fit the rules of the partition{partition}.",
        f"{_CANCEL} and start again with fewer GPUs, fewer hours or in another partition.",
    ),
    "MaxMemPerLimit": (
        "The session asks for more memory than one job may have in the partition{partition}.",
        f"{_CANCEL} and start again with fewer GPUs.",
    ),
    "BadConstraints": (
        "No node of the cluster has what the session asks for, so it never starts.",
        f"{_CANCEL} and start again with fewer GPUs or without a GPU type.",
    ),
    "Constraints": (
        "No node that is up now has what the session asks for.",
        f"{_BY_ITSELF} If it takes longer than you expect, ask the administrators.",
    ),
    "JobHeldAdmin": (
        "An administrator holds the session back.",
        "Ask the administrators why and until when.",
    ),
    "JobHeldUser": (
        "The job was put on hold, by you or by Slurm after a failed start.",
        f"{_CANCEL} and start again.",
    ),
    "JobHoldMaxRequeue": (
        "Slurm gave up on the session after it failed to start several times.",
        f"{_CANCEL} {_ASK}",
    ),
    "held after launch failure": (
        "A node was found, but the session could not be started there, and Slurm holds it back.",
        _HELD,
    ),
    "held after environment failure": (
        "Your login environment could not be set up on the node, and Slurm holds the session back.",
        _HELD,
    ),
    "requeued and held": (
        "The job went back to the queue and is held there.",
        f"{_CANCEL} and start again.",
    ),
    "reservation ended": (
        "The reservation that the session uses has ended.",
        f"{_CANCEL} and start again without a reservation.",
    ),
    "Reservation": (
        "The reservation that the session uses has not begun, or is full.",
        "Wait until it begins, or cancel this start and start again without it.",
    ),
    "ReservationDeleted": (
        "The reservation that the session uses is gone.",
        f"{_CANCEL} and start again without a reservation.",
    ),
    "ReservationInvalid": (
        "The session cannot use the reservation that it names.",
        f"{_CANCEL} and start again without a reservation.",
    ),
    "Licenses": ("All licenses of a program that the session asks for are taken.", _BY_ITSELF),
    "InvalidAccount": (
        "Slurm does not let you use the account of this session, or no longer.",
        f"{_CANCEL} {_ASK}",
    ),
    "InvalidQOS": (
        "The quality of service (QOS) of this session does not exist for you.",
        f"{_CANCEL} and start again without a QOS.",
    ),
    "QOSNotAllowed": (
        "The quality of service (QOS) of this session may not be used with its account or "
        "partition.",
        f"{_CANCEL} and choose another QOS or partition.",
    ),
    "AccountNotAllowed": (
        "Your account may not use the partition{partition}.",
        f"{_CANCEL} and choose another partition or account.",
    ),
    "not in group": (
        "Your groups may not use the partition{partition}.",
        f"{_CANCEL} and choose another partition, or ask the administrators.",
    ),
    "QOSUsageThreshold": (
        "Your account has used more of the cluster than the quality of service (QOS) of this "
        "session allows.",
        f"{_CANCEL} and choose another QOS, or ask the administrators.",
    ),
    "AccountingPolicy": (
        "A limit of your account or of its quality of service (QOS) is reached.",
        "Stop another of your sessions or jobs; this session then starts by itself.",
    ),
    "AssociationJobLimit": (
        "Your account has reached its limit on jobs.",
        "Stop another of your sessions or jobs; this session then starts by itself.",
    ),
    "AssociationResourceLimit": (
        "Your account has reached a limit on GPUs, cores or memory.",
        "Stop another of your sessions or jobs; this session then starts by itself.",
    ),
    "AssociationTimeLimit": (
        "The session asks for more time than your account allows, or its time is spent.",
        f"{_CANCEL} and start again with fewer hours.",
    ),
    "QOSJobLimit": (
        "The quality of service (QOS) of this session has reached its limit on jobs.",
        "No action is needed: the session starts by itself when enough of them end.",
    ),
    "QOSResourceLimit": (
        "The quality of service (QOS) of this session has reached a limit on GPUs, cores or "
        "memory.",
        "No action is needed: the session starts by itself when enough jobs end.",
    ),
    "QOSTimeLimit": (
        "The session asks for more time than its quality of service (QOS) allows, or that time "
        "is spent.",
        f"{_CANCEL} and start again with fewer hours.",
    ),
    "DeadLine": (
        "The session can no longer end before the deadline that was set for it.",
        f"{_CANCEL} and start again.",
    ),
    "MaxPoweredUpNodes": (
        "As many nodes are switched on as the site allows at a time.",
        "No action is needed: the session starts by itself when other jobs end.",
    ),
    "PowerNotAvail": ("There is not enough power for more jobs now.", _BY_ITSELF),
    "PowerReserved": ("The power that the session needs is kept for other jobs.", _BY_ITSELF),
    "MpiPortsBusy": ("All network ports that the session needs are taken.", _BY_ITSELF),
    "NvidiaImexChannels": ("All GPU memory-sharing channels (IMEX) are taken.", _BY_ITSELF),
    "SchedDefer": ("The cluster is busy and starts no job at once.", _BY_ITSELF),
    "FedJobLock": ("The clusters are agreeing which of them starts the session.", _BY_ITSELF),
    "JobArrayTaskLimit": (
        "As many parts of this job run as were asked to run at a time.",
        _BY_ITSELF,
    ),
    "BurstBufferResources": ("All space on the fast storage is taken.", _BY_ITSELF),
    "BurstBufferStageIn": ("Files are being copied to the fast storage.", _BY_ITSELF),
    "BurstBufferOperation": (
        "The fast storage (burst buffer) failed for this session.",
        f"{_CANCEL} {_ASK}",
    ),
    "BlockFreeAction": ("A part of the cluster is being freed for the session.", _BY_ITSELF),
    "BlockMaxError": (
        "A part of the cluster had too many errors to start the session.",
        f"{_CANCEL} {_ASK}",
    ),
    "SystemFailure": ("Slurm or a part of the cluster failed.", f"{_CANCEL} {_ASK}"),
    "JobLaunchFailure": ("The session could not be started on its node.", _HELD),
    "NonZeroExitCode": ("An earlier run of this job ended with an error.", _HELD),
    "RaisedSignal": ("An earlier run of this job was ended by a signal.", _HELD),
    "OutOfMemory": (
        "An earlier run of this job used more memory than it had.",
        f"{_CANCEL} and start again with more GPUs, since memory comes with them.",
    ),
    "TimeLimit": ("An earlier run of this job reached its time limit.", _HELD),
    "InactiveLimit": ("An earlier run of this job was ended because it did nothing.", _HELD),
}
