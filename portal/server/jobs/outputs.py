"""What jobs write, and where: Slurm forgets the file some minutes after a job's end."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from dsportal.slurm.listing import Sacct
from portal.server.jobs.output_file import MAX_OUTPUT_BYTES, open_plain
from portal.server.jobs.script import parse_options

RUNS_FOLDER = "portal-runs"
# The folder that a job began in, the command that submitted it, and its name.
SUBMITTED = Sacct(("JobID", "WorkDir", "SubmitLine", "JobName"))
# scontrol does not quote: a path may hold blanks, and ends before the next KEY=. If there is none,
# a blank ends the line since Slurm 24.11.
_STDOUT = re.compile(r"\sStdOut=(/\S.*?)(?= Power=| [A-Za-z]+=| ?$)", re.MULTILINE)
_PATTERN = re.compile(r"%(?P<n_digits>\d{0,2})(?P<key>[jAaxu%])")


def parse_output_path(text: str) -> Path | None:
    """Return where a job writes, of a line of scontrol; None if it says nothing.

    Source:
        scontrol(1), show job --oneliner, Slurm 22.05 to 24.11.
    """
    match = _STDOUT.search(text)
    return None if match is None else Path(match[1])


def likely_paths(text: str, nonce: str, job_id: str, home: Path, user: str) -> Iterator[Path]:
    """Yield where an ended job may have written, the likeliest first.

    Args:
        text: Lines of `SUBMITTED`; others are skipped.
        home: The user's, which has the folder of runs.
        user: Stands for %u.

    Source:
        sbatch(1), --output and "filename pattern", Slurm 22.05: a job that names no file writes
        slurm-%j.out, a task of an array slurm-%A_%a.out, into the folder that it began in.
    """
    for row_id, folder, line, name in SUBMITTED.rows(text, nonce):
        if row_id != job_id:
            continue
        array, _, task = row_id.partition("_")
        named = _named_output(line, Path(folder))
        default = "slurm-%A_%a.out" if task else "slurm-%j.out"
        # The second as our template of a job script has it.
        for pattern in [named] if named else [default, "%x-%j.out"]:
            # Of a task %j is another number, which only slurmctld knew.
            if not (task and "%j" in pattern):
                values = {"j": row_id, "A": array, "a": task, "x": name, "u": user, "%": "%"}
                yield Path(folder) / _expand(pattern, values)
        if name and "/" not in name:
            yield home / RUNS_FOLDER / name / "job.log"


def submitted_scripts(text: str, nonce: str, job_id: str) -> Iterator[Path]:
    """Yield which file may be the script that a job was submitted with."""
    for row_id, folder, line, _ in SUBMITTED.rows(text, nonce):
        if row_id == job_id:
            yield from (Path(folder) / word for word in _words(line) if word[:1] != "-")


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)[1:]
    except ValueError:
        return []


def _expand(pattern: str, values: Mapping[str, str]) -> str:
    # A name with "/" would lead elsewhere; Slurm writes such a job's output nowhere.
    def value(found: re.Match[str]) -> str:
        return values[found["key"]].replace("/", "_").zfill(int(found["n_digits"] or 0))

    return _PATTERN.sub(value, pattern)


def existing_file(paths: Iterator[Path]) -> Path | None:
    """Return the first that is a plain file, or None."""
    return next((path for path in paths if os.path.isfile(path)), None)


def _named_output(line: str, folder: Path) -> str:
    """Return the pattern that the submitting command, or else its script, gives, or ""."""
    words = _words(line)
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word.startswith("--output="):
            return word.removeprefix("--output=")
        if word in {"--output", "-o"}:
            return following
    scripts = (folder / word for word in words if not word.startswith("-"))
    named = (dict(parse_options(_read_text(path))).get("output", "") for path in scripts)
    return next((pattern for pattern in named if pattern), "")


def _read_text(path: Path) -> str:
    try:
        with open_plain(path) as file:
            return file.read(MAX_OUTPUT_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
