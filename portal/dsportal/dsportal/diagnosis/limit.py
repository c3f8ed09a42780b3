"""Parses Slurm's names of limits, such as QOSMaxGRESPerUser, by their parts.

Slurm has about 160 of them, composed of who has the limit, what it counts and over what. Parsing
them by rule covers combinations that a later release adds.
"""

import re
from dataclasses import dataclass

_LIMIT = re.compile(
    r"(?P<owner>QOS|Assoc)?(?P<kind>Grp|Max|Min)"
    r"(?P<resource>BB|Billing|Cpu|Energy|GRES|Jobs?|Licenses?|Mem(?:ory)?|Nodes?|SubmitJobs?|TRES"
    r"|Unknown|Wall(?:Duration)?)"
    r"(?P<minutes>Minutes|Mins|RunMinutes|RunMins)?"
    r"(?:Per(?P<per>Job|Node|User|Account))?(?:Limit|NotSatisfied)?",
    re.IGNORECASE,
)

_WORD = re.compile(r"\b(?:QOS|Assoc|Max)[A-Za-z]{3,60}\b")
_LIMIT_SENTENCE = re.compile(
    r"at or exceeds (?P<owner>QOS|association).*?(?P<group>group )?"
    r"(?:max TRES\((?P<tres>[^)]*)\) minutes|wall limit)",
    re.IGNORECASE,
)

# Nouns for an amount at a time and for an amount over time.
RESOURCES = {
    "bb": ("burst buffer space", "burst buffer minutes"),
    "billing": ("billing units", "billing minutes"),
    "cpu": ("CPU cores", "CPU minutes"),
    "energy": ("energy", "energy minutes"),
    "gres": ("GPUs", "GPU minutes"),
    "job": ("running jobs", "job minutes"),
    "license": ("licenses", "license minutes"),
    "mem": ("memory", "memory minutes"),
    "memory": ("memory", "memory minutes"),
    "node": ("nodes", "node minutes"),
    "submitjob": ("running and waiting jobs", "job minutes"),
    "tres": ("resources", "resource minutes"),
    "unknown": ("unnamed resources", "minutes of unnamed resources"),
    "wall": ("session time", "session time"),
    "wallduration": ("session time", "session time"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One of Slurm's limits.

    Attributes:
        owner: Who shares the limit: "your account", "your quality of service (QOS)" or "you".
        is_minimum: Whether it is the least that a job must ask for, not the most.
        resource: What it counts, a key of `RESOURCES`.
        minutes: "" for an amount at a time, "budget" for minutes over a longer period, and
            "ahead" for minutes that running jobs may still use.
        per: "job", "node", "user", "account" or "group".
        is_of_qos: Whether it is a limit of the quality of service, not of the account.
    """

    owner: str
    is_minimum: bool
    resource: str
    minutes: str
    per: str
    is_of_qos: bool


def find_limit(text: str) -> Limit | None:
    """Return the first limit that a reason or the standard error of sbatch names, or None."""
    limits = (parse_limit(word) for word in _WORD.findall(text))
    return next((limit for limit in limits if limit is not None), None)


def parse_limit(word: str) -> Limit | None:
    """Return the limit that a reason such as "QOSMaxGRESPerUser" names, or None.

    Source:
        resource_limits.html, section "Reasons", and job_reason_codes.html of Slurm 25.11; the
        names of Slurm 22.05 to 25.11 are in docs/slurm-reasons.txt.
    """
    match = _LIMIT.fullmatch(word.strip())
    if match is None:
        return None
    kind = match["kind"].lower()
    resource = match["resource"].lower()
    # Slurm has both forms: QOSMaxSubmitJobPerUserLimit and QOSGrpSubmitJobsLimit.
    resource = resource if resource in RESOURCES else resource.removesuffix("s")
    # "RunMins" count what running jobs may still use until their time limits.
    minutes = (match["minutes"] or "").lower()
    minutes = "ahead" if minutes.startswith("run") else "budget" if minutes else ""
    # AssocMaxJobsLimit has no "Per": an association is that of one user.
    per = "group" if kind == "grp" else (match["per"] or "user").lower()
    if resource.startswith("wall"):
        per, minutes = (per, "budget") if kind == "grp" else ("job", "")
    is_qos = (match["owner"] or "QOS").lower() == "qos"
    owners = {"group": "your quality of service (QOS)" if is_qos else "your account"}
    return Limit(
        owner=owners.get(per, "your account" if per == "account" else "you"),
        is_minimum=kind == "min",
        resource=resource,
        minutes=minutes,
        per=per,
        is_of_qos=is_qos,
    )


def parse_limit_sentence(text: str) -> Limit | None:
    """Return the limit in a sentence that Slurm writes about a budget.

    Args:
        text: Such as "Job is at or exceeds QOS normal's group max TRES(gres/gpu) minutes of
            600 with 612".

    Source:
        slurmctld 22.05 to 25.11 writes it when a running job reaches the limit.
    """
    match = _LIMIT_SENTENCE.search(text)
    if match is None:
        return None
    owner = "QOS" if match["owner"].lower() == "qos" else "Assoc"
    kind = "Grp" if match["group"] else "Max"
    # Only the sentence about wall time names no TRES.
    if match["tres"] is None:
        return parse_limit(f"{owner}{kind}WallLimit")
    resource = match["tres"].lower().partition("/")[0]
    resource = resource if resource in RESOURCES else "tres"
    return parse_limit(f"{owner}{kind}{resource}Minutes" + ("" if kind == "Grp" else "PerJob"))
