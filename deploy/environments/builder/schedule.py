"""Builds targets in the order of their needs, several at a time, and prints progress."""

import enum
import graphlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from deploy.common.errors import DeployError
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.target import Target, is_current, make

# Mostly waiting for downloads and unpacking; Horovod's compiler takes the cores that are left.
MOST_AT_A_TIME = 3
NPM_LOG = "A complete log of this run can be found in"
_one_line_at_a_time = threading.Lock()


class Outcome(enum.Enum):
    """How the build of a target ended."""

    UNCHANGED = "unchanged"
    BUILT = "built"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How the build of one target ended."""

    name: str
    outcome: Outcome
    took_s: float = 0.0


def build_targets(targets: Sequence[Target], plan: Plan) -> list[Ended]:
    """Build what is not current; skip what needs a failed target.

    `targets` includes everything that they need. Of those that could be built, the first comes
    first.
    """
    by_name = {target.name: target for target in targets}
    rank = list(by_name).index
    order = graphlib.TopologicalSorter(
        # `after` may name targets that this run does not build.
        {t.name: {n for n in (*t.needs, *t.after) if n in by_name} for t in targets}
    )
    order.prepare()
    ended: list[Ended] = []
    most = min(MOST_AT_A_TIME, 1 + (os.cpu_count() or 1))
    with ThreadPoolExecutor(most) as pool:
        ready: list[str] = []
        running: set[Future[Ended]] = set()
        while order.is_active():
            ready = sorted((*ready, *order.get_ready()), key=rank)
            while ready and len(running) < most:
                # A copy, because the list grows while the threads read theirs.
                running.add(pool.submit(_work_on, by_name[ready.pop(0)], plan, list(ended)))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                ended.append(future.result())
                order.done(ended[-1].name)
    return ended


def _work_on(target: Target, plan: Plan, ended: Sequence[Ended]) -> Ended:
    lost = {e.name for e in ended if e.outcome in {Outcome.FAILED, Outcome.NOT_TRIED}}
    # `after` only orders: a failure there is no reason to leave this target out.
    if missing := sorted(lost & set(target.needs)):
        say(target.name, f"not tried, because it needs {missing[0]}")
        return Ended(name=target.name, outcome=Outcome.NOT_TRIED)
    if is_current(target, plan):
        say(target.name, "unchanged")
        return Ended(name=target.name, outcome=Outcome.UNCHANGED)
    say(target.name, target.summary)
    before = time.monotonic()
    outcome = _make_with_log(target, plan, elapsed_s=lambda: time.monotonic() - before)
    return Ended(name=target.name, outcome=outcome, took_s=time.monotonic() - before)


def _make_with_log(target: Target, plan: Plan, elapsed_s: Callable[[], float]) -> Outcome:
    path = plan.log_path(target.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as log:
            make(target, plan, log)
    except DeployError as error:
        tell_failure(target, plan, error.message, error.next_step, elapsed_s())
        return Outcome.FAILED
    # Such as a full disk: told like any failed step, and other targets continue.
    except OSError as error:
        tell_failure(target, plan, f"{error.filename}: {error.strerror}.", "", elapsed_s())
        return Outcome.FAILED
    say(target.name, f"done in {elapsed_s():.1f} s")
    return Outcome.BUILT


def tell_failure(target: Target, plan: Plan, what: str, next_step: str, took_s: float) -> None:
    """Print what failed, where to read more and what to do.

    `what` and `next_step` are one sentence each; `next_step` may be empty.
    """
    lines = [f"FAILED after {took_s:.1f} s: {what}", f"  log:  {plan.log_path(target.name)}"]
    if last := _last_line(plan, target):
        lines.append(f"  last: {last}")
    lines.append(f"  next: {next_step or 'Read the log, mend the cause.'}")
    lines.append(f"        Then run: deploy/environments/build {target.name}")
    say(target.name, *lines)


def _last_line(plan: Plan, target: Target) -> str:
    try:
        text = plan.log_path(target.name).read_text(errors="replace")
    except OSError:
        return ""
    said = [line.strip() for line in text.splitlines() if line.strip()]
    # The very last line often says no more than that make or pip gave up, or names npm's own log.
    errors = [line for line in said if "error" in line.lower() and NPM_LOG not in line]
    return (errors or said or [""])[-1][:200]


def say(name: str, *lines: str) -> None:
    """Print lines about one target, never mixed with those of another."""
    with _one_line_at_a_time:
        for line in lines:
            print(f"{name:<11} {line}", flush=True)
