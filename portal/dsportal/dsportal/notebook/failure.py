"""Explains why a run failed: from what a rank recorded, otherwise from what Slurm saw."""

import re
from pathlib import Path

from dsportal.errors import LaunchError, RankError, StepError
from dsportal.launch.messages import explain_end
from dsportal.notebook.output import log_tail
from dsportal.slurm.states import JobState
from dsportal.task.folder import RunFolder
from dsportal.task.notebook import files_beside
from dsportal.task.plan import End

_NO_PROGRAM = re.compile(
    r"(?:slurmstepd(?:-(?P<node>[^\s:]+))?: )?error: execve\(\): (?P<path>\S+): No such file"
)
_NO_MPI = re.compile(r"Invalid MPI type|can not load PMIx library")
_LOST = re.compile(r"srun: error: (?P<node>\S+): tasks? (?P<rank>\d+)[\d,-]*: (?P<how>.+)")
# Libraries abort a rank that has lost its peer.
_MAY_FOLLOW = "Aborted"
# What a rank says that has lost its peer, in PyTorch over Gloo and NCCL and in Horovod.
_LOST_PEER = re.compile(
    r"connection (?:was )?(?:reset|closed|refused|lost)|broken pipe|remote peer|"
    r"HorovodInternalError|Horovod has been shut down",
    re.IGNORECASE,
)
# Once another rank has failed.
_ENDED_BY_SLURM = {"Killed", "Terminated"}
_NODE_FAILURE = re.compile(r"srun: error: Node failure on (?P<node>\S+)")


def explain_failure(folder: RunFolder, end: End, n_ranks: int) -> LaunchError:
    """Return the error to raise for a step that failed.

    Returns:
        A RankError for the rank that was killed or failed first, if one can be named; otherwise, or
        if a node failed, a StepError with Slurm's words.
    """
    failures, slurm_lines = folder.read_failures(n_ranks), end.slurm_lines
    away = next((match for match in map(_NODE_FAILURE.match, slurm_lines) if match), None)
    if away is not None:
        # What ranks on other nodes recorded came of it.
        said = explain_end(JobState.NODE_FAIL.name, away["node"])
        return StepError(f"{said} Logs: {folder.path}")
    lost = [match for match in map(_LOST.match, slurm_lines) if match]
    recorded = {failure.rank for failure in failures}
    silent = [match for match in lost if int(match["rank"]) not in recorded]
    # srun writes a line when a rank ends. If the first one recorded nothing, what the others
    # recorded came of it. Two that end within moments of each other come in any order: then the
    # others say that they have lost a peer.
    by_itself = [match for match in silent if not match["how"].startswith(_MAY_FOLLOW)]
    came_first = [match for match in by_itself if match is lost[0]]
    if failures and _LOST_PEER.search(f"{failures[0].summary}\n{failures[0].traceback_text}"):
        came_first += [match for match in by_itself if match["how"] not in _ENDED_BY_SLURM]
    if failures and came_first:
        return _lost_rank_error(folder, came_first[0], n_ranks)
    if failures:
        # The first in time: the others may have failed because it did.
        failure = failures[0]
        also = "".join(
            f"\nRank {match['rank']} on {match['node']} ended without a traceback: {match['how']}."
            for match in silent
            if match["how"] not in _ENDED_BY_SLURM
        )
        return _rank_error(
            folder,
            rank=failure.rank,
            n_ranks=n_ranks,
            node=failure.node,
            how=f"{failure.summary}{also}",
            traceback_text=failure.traceback_text,
        )
    # slurmstepd's error about a missing program may be in the rank's log, not among srun's lines.
    for text in [*slurm_lines, *(log_tail(folder.log_path(rank)) for rank in range(n_ranks))]:
        if (absent := _NO_PROGRAM.search(text)) is not None:
            node = absent["node"] or (lost[0]["node"] if lost else "A node of the job")
            return StepError(
                f"Node {node} has no {absent['path']}. Tell the administrators to install this "
                "kernel's environment there. Until then choose other nodes, or fewer."
            )
    if lost:
        return _lost_rank_error(folder, lost[0], n_ranks)
    said = "\n".join(slurm_lines) or "Slurm gave no reason."
    if _NO_MPI.search(said):
        return StepError(
            "Slurm cannot start ranks over MPI, since its plugin 'pmix' does not load. Leave mpi "
            "out, which uses Gloo, or tell the administrators to install the libpmix.so that the "
            f"plugin loads (Debian: libpmix-dev) on the nodes:\n{said}"
        )
    return StepError(
        f"Slurm did not run the {n_ranks} ranks to their end (exit status {end.status}). If the "
        f"session is near its end, start a new one. Else tell the administrators:\n{said}"
    )


def _lost_rank_error(folder: RunFolder, lost: re.Match[str], n_ranks: int) -> RankError:
    rank = int(lost["rank"])
    return _rank_error(
        folder,
        rank=rank,
        n_ranks=n_ranks,
        node=lost["node"],
        how=f"The process ended without a traceback: {lost['how']}.",
        traceback_text=log_tail(folder.log_path(rank)) or "It had printed nothing.",
    )


def _rank_error(
    folder: RunFolder, *, rank: int, n_ranks: int, node: str, how: str, traceback_text: str
) -> RankError:
    log_path = folder.log_path(rank)
    others = " All ranks have been ended." if n_ranks > 1 else ""
    where = f"This was rank {rank} of {n_ranks} on {node}.{others}"
    if notebook := folder.read_notebook():
        beside = files_beside(Path(notebook), folder)
        where = f"This was {notebook} on {node}, as far as it ran in {beside.executed.name}."
        log_path = beside.log
    return RankError(
        f"{how}\n{where} Its output is in {log_path}",
        rank=rank,
        node=node,
        log_path=log_path,
        traceback_text=traceback_text,
    )
