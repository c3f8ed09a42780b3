"""What jobs write, and where: Slurm forgets the file some minutes after a job's end."""

import json
import logging
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from dsportal.slurm.listing import Sacct
from dsportal.whole_file import write_whole
from portal.server.jobs.output_file import MAX_OUTPUT_BYTES, open_plain
from portal.server.jobs.script import parse_options

RECORD_PATH = Path(".local/state/data-scientist-portal/job-outputs.json")
RUNS_FOLDER = "portal-runs"
# A day of a busy user; the oldest are forgotten.
MOST_REMEMBERED = 1000
# The folder that a job began in, the command that submitted it, and its name.
SUBMITTED = Sacct(("JobID", "WorkDir", "SubmitLine", "JobName"))
_PATTERN = re.compile(r"%(?P<n_digits>\d{0,2})(?P<key>[jAaxu%])")


class OutputPaths:
    """The output files of the user's jobs.

    Args:
        home: Where the record is kept, so that it outlives the session.
    """

    def __init__(self, home: Path, log: logging.Logger | None = None) -> None:
        self._home = home
        self._log = log or logging.getLogger(__name__)
        self._paths: dict[str, str] | None = None

    def get(self, job_id: str) -> Path | None:
        """Return the remembered file of a job, or None."""
        path = self._known().get(job_id)
        return None if path is None else Path(path)

    def remember(self, job_id: str, path: Path) -> None:
        """Keep the file of a job. A record that cannot be written is kept for this session."""
        paths = self._known()
        if paths.get(job_id) == str(path):
            return
        paths[job_id] = str(path)
        self._paths = dict(list(paths.items())[-MOST_REMEMBERED:])
        record = self._home / RECORD_PATH
        try:
            record.parent.mkdir(parents=True, exist_ok=True)
            write_whole(record, json.dumps(self._paths).encode())
        except OSError as error:
            self._log.warning("%s cannot be written: %s", record, error)

    def _known(self) -> dict[str, str]:
        if self._paths is None:
            try:
                read = json.loads((self._home / RECORD_PATH).read_text(encoding="utf-8"))
                self._paths = {str(job_id): str(path) for job_id, path in read.items()}
            except (OSError, ValueError, AttributeError):
                self._paths = {}
        return self._paths


def likely_paths(text: str, nonce: str, job_id: str, home: Path, user: str) -> Iterator[Path]:
    """Yield where an ended job may have written, the likeliest first.

    Args:
        text: Lines of `SUBMITTED`; others are skipped.
        nonce: Separates the fields.
        job_id: Whose line counts.
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
    """Yield which file may be the script that a job was submitted with.

    Args:
        text: Lines of `SUBMITTED`; others are skipped.
        nonce: Separates the fields.
        job_id: Whose line counts.
    """
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
