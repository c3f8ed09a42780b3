"""The form of a diagnosis: one sentence and one next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What happened, and what to do about it.

    Attributes:
        sentence: What happened, for readers who know nothing about Slurm.
        next_step: The one thing to do now.
    """

    sentence: str
    next_step: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.next_step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the portal knows about a session besides Slurm's reason; None for what it does not know.

    Attributes:
        n_gpus: GPUs that the session asks for.
        n_gpus_held: GPUs that the user's other jobs hold.
        n_gpus_limit: GPUs that the limit in question allows at a time.
        max_walltime_s: Longest session that is allowed, in seconds.
        user_uid: Uid of the session's user.
        hub_uid: Uid of the account that the portal runs as.
    """

    n_gpus: int | None = None
    n_gpus_held: int | None = None
    n_gpus_limit: int | None = None
    partition: str | None = None
    walltime_s: int | None = None
    max_walltime_s: int | None = None
    memory_mib: int | None = None
    user_uid: int | None = None
    hub_uid: int | None = None


UNKNOWN_SITUATION = Situation()

# A sentence and its next step, as the tables of reasons hold them.
Words = tuple[str, str]


def diagnose(words: Words, parts: Mapping[str, str] | None = None) -> Diagnosis:
    """Return the diagnosis of a table's row, with `parts` in place of the {names} in it."""
    sentence, next_step = words
    for name, text in (parts or {}).items():
        sentence = sentence.replace(f"{{{name}}}", text)
        next_step = next_step.replace(f"{{{name}}}", text)
    return Diagnosis(sentence=sentence, next_step=next_step)


def count_gpus(n_gpus: int) -> str:
    """Return "1 GPU" or "3 GPUs"."""
    return f"{n_gpus} GPU" if n_gpus == 1 else f"{n_gpus} GPUs"


def quote(text: str, *, n_characters: int = 200) -> str:
    """Return Slurm's own words in quotation marks, on one line and without control characters.

    Text over `n_characters` is cut.
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f'"{line[:n_characters]}…"' if len(line) > n_characters else f'"{line}"'
