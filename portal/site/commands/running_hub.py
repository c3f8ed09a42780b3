"""The commands that ask a running hub: status, drain, undrain, sessions stop."""

import argparse
import json
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dsportal.amounts import count
from portal.confirmation import may_change
from portal.hub.admin.tokens import OPERATOR, read_token
from portal.hub.formatting import format_partition
from portal.hub.messages.drain import DEFAULT_MESSAGE
from portal.hub.settings.loader import Settings, load_settings
from spawner.errors import SiteError

ANSWER_TIMEOUT_S = 10.0
# Each session ends in parallel; Slurm may take a minute for the last.
STOP_TIMEOUT_S = 180.0


def show_status(arguments: argparse.Namespace) -> int:
    """Print the hub's status.

    Returns:
        0 if the Slurm of each cluster answers, else 1.
    """
    status = ask_hub(load_settings(arguments.settings), "GET", "status")
    print(json.dumps(status, indent=1) if arguments.json else status_text(status))
    said = {status["slurm"], *status["clusters"].values()}
    return 0 if said <= {"answers", "not asked"} else 1


def drain(arguments: argparse.Namespace) -> int:
    """Make the hub refuse new sessions."""
    settings = load_settings(arguments.settings)
    message = arguments.message.strip() or DEFAULT_MESSAGE
    if may_change(arguments, f'Refuse all new sessions, and tell users "{message}"'):
        answer = ask_hub(settings, "PUT", "drain", {"message": message})
        print(f"New sessions are refused: {answer['drain']}")
        print("All pages and open sessions show this. 'dsportal undrain' ends it.")
    return 0


def undrain(arguments: argparse.Namespace) -> int:
    """Make the hub accept new sessions again."""
    ask_hub(load_settings(arguments.settings), "DELETE", "drain")
    print("New sessions are accepted.")
    return 0


def stop_sessions(arguments: argparse.Namespace) -> int:
    """Make the hub stop sessions.

    Returns:
        0 if all that were meant are stopped, else 1.
    """
    settings = load_settings(arguments.settings)
    partition, user = arguments.partition, arguments.user
    if bool(partition or user) == arguments.all:
        raise SiteError(
            "Say which sessions: either --all, or --partition NAME and --user NAME, one or both."
        )
    if partition and partition not in (offered := list(_partitions(settings))):
        raise SiteError(f"{partition} is not offered. The partitions are: {', '.join(offered)}.")
    sessions = ask_hub(settings, "GET", "status")["sessions"]
    chosen = [
        one for one in sessions if user in {"", one["user"]} and partition in {"", _place(one)}
    ]
    if words := kernels_left(sessions, chosen, partition):
        print(words)
    where = f" in {partition}" if partition else ""
    if not chosen and user:
        # A misspelt name looks like this, too.
        raise SiteError(f"{user} has no session{where}. See dsportal status.")
    if not chosen:
        print(f"There is no session{where}, so none was stopped.")
        return 0
    people = ", ".join(sorted({one["user"] for one in chosen}))
    if not may_change(arguments, f"Stop {count(len(chosen), 'session')} of {people}"):
        return 0
    wanted = {
        "partition": partition,
        "user": user,
        "all": "yes" if arguments.all else "",
        "message": arguments.message,
    }
    return _show_stopped(ask_hub(settings, "POST", "stop", wanted, timeout_s=STOP_TIMEOUT_S))


def _partitions(settings: Settings) -> Iterator[str]:
    yield from settings.partitions
    for cluster, (_, there) in settings.clusters.items():
        yield from (format_partition(cluster, name) for name in there.partitions)


def kernels_left(
    sessions: list[dict[str, Any]], chosen: list[dict[str, Any]], partition: str
) -> str:
    """Return whose kernels keep GPUs in a partition that is emptied of sessions; empty for nobody.

    Args:
        sessions: All of the hub, as it lists them.
        chosen: Those that are stopped.
    """
    others = [one for one in sessions if partition in _kernel_places(one) and one not in chosen]
    if not others:
        return ""
    n_gpus = sum(one["kernel_gpus"] for one in others)
    people = ", ".join(sorted({one["user"] for one in others}))
    return (
        f"Kernels of sessions elsewhere hold {count(n_gpus, 'GPU')} in {partition} and keep them: "
        f"{people}. To end these, too, stop their sessions: --user NAME."
    )


def _show_stopped(answer: dict[str, Any]) -> int:
    sessions = answer["sessions"]
    for one in sessions:
        outcome = "stopped" if one["stopped"] else f"not stopped: {one['reason']}"
        print(f"{one['user']:<16} job {one['job_id']:<8} {_place(one):<12} {outcome}")
    n_stopped = sum(one["stopped"] for one in sessions)
    print(f"{n_stopped} of {count(len(sessions), 'session')} stopped.")
    return 0 if n_stopped == len(sessions) else 1


def status_text(status: dict[str, Any]) -> str:
    """Return the hub's status as lines for a terminal.

    `status` is the hub's answer.
    """
    sessions = status["sessions"]
    states = Counter(one["state"] for one in sessions)
    # The hub makes its first connection to Slurm for a user.
    slurm = {"not asked": "not asked: nobody has logged in yet"}.get(status["slurm"])
    counts = ", ".join(f"{n} {state}" for state, n in sorted(states.items())) or "none"
    rows = [
        f"{one['user']:<16} {one['state']:<9} job {one['job_id']:<8} {_place(one):<12}"
        f" {count(one['gpus'], 'GPU')}{_kernels(one)}  {one['node'] or one['reason']}"
        for one in sorted(sessions, key=lambda one: (one["state"], one["user"]))
    ]
    return "\n".join(
        [
            f"portal      {status['portal']}, JupyterHub {status['jupyterhub']}",
            f"Slurm       {slurm or status['slurm']}",
            *(f"  {name:<10}{said}" for name, said in status["clusters"].items()),
            f"sessions    {counts}",
            f"new ones    {'refused: ' + status['drain'] if status['drain'] else 'accepted'}",
            *rows,
        ]
    )


def _place(session: dict[str, Any]) -> str:
    return format_partition(session["cluster"], session["partition"])


def _kernel_places(session: dict[str, Any]) -> list[str]:
    return [format_partition(session["cluster"], name) for name in session["kernel_partitions"]]


def _kernels(session: dict[str, Any]) -> str:
    n_gpus = session["kernel_gpus"]
    return f" and {n_gpus} of kernels" if n_gpus else ""


def ask_hub(
    settings: Settings,
    method: str,
    what: str,
    body: dict[str, str] | None = None,
    *,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> dict[str, Any]:
    """Send a request with the operator's token to the hub's API.

    `what` is the last part of the path.

    Returns:
        The answer; empty if it has no body.
    """
    hub = settings.hub
    url = f"{hub.url}{hub.hub_prefix}api/dsportal/{what}"
    token = read_token(hub.state_dir, OPERATOR)
    request = urllib.request.Request(  # noqa: S310
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"token {token}", "Content-Type": "application/json"},
    )
    # A proxy in the environment is for other hosts.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            return dict(json.loads(answer.read() or b"{}"))
    except urllib.error.HTTPError as error:
        raise SiteError(f"The hub refused: {_reason(error)}") from error
    except OSError as error:
        raise SiteError(
            f"The hub does not answer at {url}: {getattr(error, 'reason', error)}."
            " Start it, wait some seconds if it has just been started, or read its log."
        ) from error


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["message"])
    except (ValueError, KeyError, OSError):
        return f"status {error.code}. Read its log."
