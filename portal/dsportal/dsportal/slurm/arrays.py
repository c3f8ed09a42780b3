"""Tasks of job arrays, as Slurm's commands name them. Pure."""

import re

_TASK = re.compile(r"[0-9]+_(?:(?P<one>[0-9]+)|\[(?P<waiting>[^\]]*)\])", re.ASCII)
_RANGE = re.compile(r"(?P<first>[0-9]+)(?:-(?P<last>[0-9]+)(?::(?P<step>[1-9][0-9]*))?)?", re.ASCII)
_MAX_SIZE = re.compile(r"^MaxArraySize\s*=\s*([0-9]+)$", re.ASCII | re.MULTILINE)


def tasks_of(job_id: str) -> list[int]:
    """Return the numbers of the tasks that an id names; none for a job that is no array.

    Args:
        job_id: Such as "12_3", or "12_[4-9:2,12%3]" for those that wait.

    Source:
        squeue(1), --array, and sacct(1), JobID, Slurm 22.05: the number at once comes last, and a
        long list is cut off with dots.
    """
    match = _TASK.fullmatch(job_id)
    if match is None:
        return []
    if match["one"]:
        return [int(match["one"])]
    parts = match["waiting"].partition("%")[0].split(",")
    ranges = (_RANGE.fullmatch(part) for part in parts)
    return [
        number
        for one in ranges
        if one
        for number in range(
            int(one["first"]), int(one["last"] or one["first"]) + 1, int(one["step"] or 1)
        )
    ]


def parse_max_array_size(text: str) -> int | None:
    """Return one more than the highest number that a task may have; None if it is not said.

    Source:
        slurm.conf(5), MaxArraySize, Slurm 22.05.
    """
    match = _MAX_SIZE.search(text)
    return None if match is None else int(match[1])
