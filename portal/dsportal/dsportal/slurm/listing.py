"""What squeue, sacct and sbatch are told to print, and the fields of the lines that they print."""

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# The line of `sbatch --parsable` among others: ID, or ID;CLUSTER.
PARSABLE_JOB_ID = re.compile(r"^([0-9]+)(?:;\S*)?$", re.MULTILINE)
# What squeue and scontrol say about a job that slurmctld has forgotten, or that never was.
NO_SUCH_JOB = "Invalid job id"
# Linux takes 128 KiB in one argument (MAX_ARG_STRLEN), and an id has up to 10 digits.
_MOST_IDS = 10_000


def new_nonce() -> str:
    """Return a random word that tells Slurm's own lines from texts of users in their jobs.

    Slurm prints a line break in a job's name or comment as it is, so a user could add a line
    about somebody else's job; nobody knows the nonce of an answer before it is printed.
    """
    # A letter first: squeue would take a digit for a part of the width before it.
    return f"m{secrets.token_hex(8)}"


def job_options(job_ids: Sequence[int]) -> Iterator[str]:
    """Yield --jobs options that together name all jobs, for one command each."""
    for start in range(0, len(job_ids), _MOST_IDS):
        yield "--jobs=" + ",".join(map(str, job_ids[start : start + _MOST_IDS]))


@dataclass(frozen=True, slots=True)
class Squeue:
    """Fields of squeue.

    Attributes:
        fields: Letters of --format, free text such as the name (j) last: a "|" in it cannot move
            the fields before it.

    Source:
        squeue(1), --format, Slurm 22.05 to 25.11.
    """

    fields: str

    @property
    def field_format(self) -> str:
        """The fields as --format has them, without a nonce, such as "%A|%j"."""
        return "|".join(f"%{letter}" for letter in self.fields)

    def options(self, nonce: str) -> tuple[str, ...]:
        """Return the options for an answer that `rows` reads, with a `new_nonce`."""
        return ("--noheader", f"--format={nonce}|{self.field_format}")

    def rows(self, text: str, nonce: str) -> Iterator[list[str]]:
        """Yield the fields of each job; lines that Slurm itself did not write are skipped."""
        # Not splitlines(), which would also split at characters that only users write.
        for line in text.split("\n"):
            line_nonce, *row = line.split("|", len(self.fields))
            if line_nonce == nonce and len(row) == len(self.fields):
                yield row


@dataclass(frozen=True, slots=True)
class Sacct:
    """Fields of sacct.

    Attributes:
        fields: Names for --format, the job's id first and free text last.

    Source:
        sacct(1), --parsable2 and --delimiter, Slurm 22.05 to 25.11.
    """

    fields: tuple[str, ...]

    def options(self, nonce: str) -> tuple[str, ...]:
        """Return the options for an answer that `rows` reads, with a `new_nonce`."""
        # --allocations: without the steps, which end in states of their own.
        return ("--allocations", *self.options_with_steps(nonce))

    def options_with_steps(self, nonce: str) -> tuple[str, ...]:
        """Return the same with the steps of jobs, of which alone use is known."""
        printed = ("--noheader", "--parsable2", f"--delimiter={nonce}")
        return (*printed, f"--format={','.join(self.fields)}")

    def rows(self, text: str, nonce: str, *, holding: str = "") -> Iterator[list[str]]:
        """Yield the fields of each job; lines that Slurm itself did not write are skipped.

        So are lines without the text `holding`, before anything is made of them.
        """
        for line in text.split("\n"):
            if holding not in line:
                continue
            row = line.split(nonce, len(self.fields) - 1)
            if len(row) == len(self.fields) and row[0][:1].isdecimal():
                yield row


@dataclass(frozen=True, slots=True)
class LongSqueue(Sacct):
    """Fields of squeue by their long names; some have no letter.

    Source:
        squeue(1), --Format, and parse_long_format() of Slurm 22.05 to 25.11: a width of 0 cuts
        nothing, and the text after it is printed behind the field.
    """

    def options(self, nonce: str) -> tuple[str, ...]:
        """Return the options for an answer that `rows` reads, with a `new_nonce`."""
        return ("--noheader", "--Format=" + f":0{nonce},".join(self.fields) + ":0")
