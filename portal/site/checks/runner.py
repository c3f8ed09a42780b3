"""Runs checks concurrently, each with a timeout; each reports something, whatever happens."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from dsportal.slurm.errors import PortalError
from portal.site.checks.finding import Check, Finding, Report, problem
from spawner.errors import SlurmUnavailableError

T = TypeVar("T")
log = logging.getLogger(__name__)


async def run_checks(checks: Sequence[Check]) -> AsyncIterator[Report]:
    """Run checks concurrently."""
    # All at once, so that a site with several faults waits for the slowest only.
    tasks = [asyncio.ensure_future(_run(check)) for check in checks]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()


async def in_thread(work: Callable[[], T]) -> T:
    """Run what may hang, in a thread that nobody has to wait for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: Exception | None) -> None:
        # The check's timeout came first.
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            # Nobody waited that long.
            return

    # Python waits at its end for the threads of an executor, but not for these.
    threading.Thread(target=run, daemon=True).start()
    return await done


async def _run(check: Check) -> Report:
    began_s = time.monotonic()
    findings = await _run_one(check)
    return Report(check=check.name, findings=findings, took_s=time.monotonic() - began_s)


async def _run_one(check: Check) -> list[Finding]:
    try:
        return await asyncio.wait_for(check.run(), check.timeout_s)
    except TimeoutError:
        return [
            problem(
                f"no answer in {check.timeout_s:g} s.",
                "Look at what this check queries. A hanging file server or daemon is likely.",
            )
        ]
    except SlurmUnavailableError as error:
        return [
            problem(
                f"Slurm does not answer. {_format_stderr(error)}".strip(),
                "Look at scontrol ping. Start slurmctld, and munge on this host and on its own.",
            )
        ]
    except PortalError as error:
        return [problem(error.message, _format_stderr(error))]
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        return [problem(f"{what}{error.strerror or error}.", "Run the check as root.")]
    except Exception as error:
        log.debug("The check %s failed", check.name, exc_info=True)
        return [
            problem(
                f"the check itself failed ({type(error).__name__}: {error}).",
                "Run dsportal check --debug and report what it prints.",
            )
        ]


def _format_stderr(error: PortalError) -> str:
    stderr = str(getattr(error, "stderr", "")).strip()
    return f"It said: {stderr.splitlines()[-1]}" if stderr else ""
