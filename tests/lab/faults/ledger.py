"""What must be so after a fault: each check yields a sentence for each thing that is not."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import requests

from deploy.one_machine.hubs import ONLY
from deploy.one_machine.layout import HUB_STATE_DIR
from tests.lab.faults.fault import Fault
from tests.lab.faults.member import Answer, Member
from tests.lab.faults.results import Record
from tests.lab.faults.stage import Stage, jobs_of, output
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS

# Longer than the hub waits for the server of a job that runs, which ends what cannot go on.
WELL_TIMEOUT_S = 420
# What may be said about a start that cannot be had now.
REFUSALS = range(400, 600)
# On the portal's first page.
ENDS = ("The last start failed: ", "The last session has ended: ")
# To users who may start a session.
LIES = {401, 403, 404, 500}


def wait_until_well(stage: Stage, fault: Fault, record: Record) -> None:
    """Wait until nothing is wrong any more, and print what is meanwhile.

    Args:
        stage: After the fault is healed, with the starts of the starters answered.
    """

    def is_well() -> bool:
        found = wrongs(stage, fault)
        if found != record.wrongs:
            print("".join(f"  {sentence}\n" for sentence in found), end="", flush=True)
        record.wrongs = found
        return not found

    eventually(is_well, timeout_s=WELL_TIMEOUT_S, every_s=0.5)


def wrongs(stage: Stage, fault: Fault) -> list[str]:
    """Return what is not as it must be; it may become so.

    Args:
        stage: After the fault is healed, with the starts of the starters answered.
    """
    try:
        health = requests.get(f"{ADDRESS}/hub/health", timeout=10)
        if not health.ok:
            return [f"the hub's health page answers {health.status_code}"]
        of_users = [*_holders(stage), *_pending(stage, fault), *_agreement(stage)]
        return [*of_users, *orphans(), *unowned_gpus()]
    except (requests.RequestException, OSError) as error:
        return [f"{type(error).__name__}: {error}"]


def _holders(stage: Stage) -> Iterator[str]:
    for member in stage.holders:
        if member.name in stage.victims:
            if member.server():
                yield f"{member.name} should have lost his session"
            continue
        if not member.is_ready():
            yield f"{member.name} lost his session"
        elif not member.has_variable():
            yield f"{member.name}'s kernel lost its variable"


def _pending(stage: Stage, fault: Fault) -> Iterator[str]:
    for member in (*stage.holders, *stage.starters):
        server = member.server()
        if server and not server["ready"]:
            yield f"{member.name} is still pending: {server['pending']}"
    for member in stage.queued:
        if member.server().get("pending") != "spawn" and not fault.may_lose_queued:
            yield f"{member.name} waits no longer"


def _agreement(stage: Stage) -> Iterator[str]:
    routes = _routes()
    for member in stage.members:
        jobs, server = jobs_of(member), member.server()
        if len(jobs) != (1 if server else 0):
            state = server["pending"] or "ready" if server else "no session"
            yield f"{member.name} has {len(jobs)} jobs, and the hub says: {state}"
        has_route = f"/user/{member.name}/" in routes
        if has_route != bool(server.get("ready")):
            yield f"the proxy {'has' if has_route else 'lacks'} a route of {member.name}"


def _routes() -> set[str]:
    token = (HUB_STATE_DIR / "proxy-token").read_text().strip()
    answer = requests.get(
        f"http://127.0.0.1:{ONLY.proxy_api_port}/api/routes",
        headers={"Authorization": f"token {token}"},
        timeout=10,
    )
    answer.raise_for_status()
    return {path if path.endswith("/") else f"{path}/" for path in answer.json()}


def orphans() -> Iterator[str]:
    """Yield a sentence for each process of a job that Slurm no longer has."""
    known = set(output("squeue", "-h", "-o", "%i").split())
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
            name = (folder / "comm").read_text().strip()
            is_user = os.stat(folder).st_uid >= 20_000
        except OSError:
            continue
        jobs = [v.partition(b"=")[2].decode() for v in variables if v.startswith(b"SLURM_JOB_ID=")]
        if is_user and jobs and jobs[0] not in known:
            yield f"{name} of job {jobs[0]} lives on, and Slurm has no such job"


def unowned_gpus() -> Iterator[str]:
    """Yield a sentence if Slurm counts more GPUs as in use than its jobs have."""
    of_nodes = n_gpus(output("scontrol", "--oneliner", "show", "nodes"), "AllocTRES")
    of_jobs = n_gpus(output("scontrol", "--oneliner", "show", "jobs"), "TRES", "RUNNING")
    if of_nodes > of_jobs:
        yield f"{of_nodes} GPUs are in use, and {of_jobs} belong to a job that runs"


def n_gpus(text: str, key: str, state: str = "") -> int:
    """Add up GPUs in what scontrol shows.

    Args:
        key: Name of the field that holds such as "cpu=8,gres/gpu=1".
        state: Of these jobs only; empty for every line.
    """
    lines = [line for line in text.splitlines() if not state or f"JobState={state} " in line]
    fields = re.findall(rf"\b{key}=(\S+)", "\n".join(lines))
    found = (re.search(r"\bgres/gpu=(\d+)", field) for field in fields)
    return sum(int(match[1]) for match in found if match)


def lies(starters: Sequence[Member], fault: Fault) -> list[str]:
    """Return what users were told that is not true or says nothing."""
    told = [(member.name, member.answer) for member in starters]
    return [
        f"{name} was told {answer.status} {answer.text}"
        for name, answer in told
        if answer is not None and not _is_honest(answer, fault)
    ]


def _is_honest(answer: Answer, fault: Fault) -> bool:
    if answer.is_accepted:
        return True
    if answer.status == 0:
        return fault.may_be_silent
    if answer.status == 500 and fault.says_to_starters:
        return fault.says_to_starters in answer.text
    is_refusal = answer.status in REFUSALS and answer.status not in LIES
    return fault.may_refuse and is_refusal and bool(answer.text)


def untold(stage: Stage, fault: Fault) -> Iterator[str]:
    """Yield who is not told why his session ended, or that his start failed."""
    for member in stage.members:
        if member.name in stage.victims and fault.says.lower() not in member.home().lower():
            yield f"{member.name} is not told '{fault.says}'"
    for member in stage.starters:
        is_lost = member.answer is not None and member.answer.is_accepted and not member.server()
        if is_lost and not any(words in member.home() for words in ENDS):
            yield f"{member.name}'s start was accepted, and he is not told why it failed"
