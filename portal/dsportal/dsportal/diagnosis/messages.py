"""The form of a diagnosis: one sentence and one next step."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dsportal.diagnosis.advice import fill_advice

_NAME = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What happened, and what to do about it."""

    sentence: str
    next_step: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.next_step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a diagnosis is about, and how its user starts and stops it.

    Attributes:
        noun: Its name in a sentence.
        cancel: How a user stops what still waits, as the beginning of a sentence.
        again: How a user asks for the same with other options, as the beginning of a sentence.
        new: How a user starts one after another has ended, as the beginning of a sentence.
        when_needed: The next step if nothing is wrong.
        more_memory: What to ask for if the memory was too small.
        releasing: How a user ends its hold, as the beginning of a sentence; "" where none can.
    """

    noun: str
    cancel: str
    again: str
    new: str
    when_needed: str
    more_memory: str = "more GPUs, since memory comes with them"
    releasing: str = ""

    @property
    def retry(self) -> str:
        """How a user asks with other options while it still waits."""
        return f"{self.cancel} and {_lower(self.again)}"

    @property
    def words(self) -> dict[str, str]:
        """The texts for the {names} in the tables."""
        return {
            "session": self.noun,
            "cancel": self.cancel,
            "again": self.again,
            "start_again": _lower(self.again),
            "retry": self.retry,
            "release": self.releasing or self.retry,
            "retry_instead": _lower(self.retry),
            "new": self.new,
            "start": _lower(self.new),
            "when_needed": self.when_needed,
            "more_memory": self.more_memory,
        }


SESSION = Subject(
    noun="session",
    cancel="Cancel this start",
    again="Start again",
    new="Start a new session",
    when_needed="Start a new session when you need one.",
)
KERNEL = Subject(
    noun="job of the kernel",
    cancel="Cancel it",
    again="Ask again",
    new="Ask for GPUs again",
    when_needed="Ask for GPUs again when you need them.",
)
RUN = Subject(
    noun="run",
    cancel="Stop the run",
    again="Start it again",
    new="Start it again",
    when_needed="Start it again when you need it.",
    releasing='Release it in the list "Jobs and Runs"',
)
JOB = Subject(
    noun="job",
    cancel="Cancel the job",
    again="Submit it again",
    new="Submit it again",
    when_needed="Submit it again when you need it.",
    # A job file says itself how much memory it wants.
    more_memory="more memory",
    releasing="Release it",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the portal knows about a session besides Slurm's reason; None for what it does not know.

    Attributes:
        n_gpus_held: GPUs that the user's other jobs hold.
        n_gpus_limit: GPUs that the limit in question allows at a time.
        is_own_limit: Whether that limit counts the user's own jobs alone.
        max_walltime_s: Longest session that is allowed, in seconds.
        memory_share: Largest part of its memory that was measured in use, 0 to 1.
        gpu_type: GPU type that it asks for; empty for any.
    """

    subject: Subject = SESSION
    n_gpus: int | None = None
    n_gpus_held: int | None = None
    n_gpus_limit: int | None = None
    is_own_limit: bool = False
    partition: str | None = None
    walltime_s: int | None = None
    max_walltime_s: int | None = None
    memory_mib: int | None = None
    memory_share: float | None = None
    user_uid: int | None = None
    hub_uid: int | None = None
    gpu_type: str | None = None
    has_other_gpu_type: bool | None = None
    has_other_partition: bool | None = None


UNKNOWN_SITUATION = Situation()

# A sentence and its next step, as the tables of reasons hold them.
Words = tuple[str, str]


def diagnose(
    words: Words,
    parts: Mapping[str, str] | None = None,
    situation: Situation = UNKNOWN_SITUATION,
) -> Diagnosis:
    """Return the diagnosis of a table's row, with texts in place of the {names} in it.

    Args:
        parts: Texts that depend on the case, by name.
    """
    texts = {**situation.subject.words, **(parts or {})}
    sentence, next_step = (
        # Not str.format, which raises for a name without a text.
        _NAME.sub(lambda name: texts.get(name[1], name[0]), text)
        for text in (words[0], fill_advice(words[1], situation))
    )
    return Diagnosis(sentence=sentence, next_step=next_step)


def quote(text: str, *, n_characters: int = 200) -> str:
    """Return Slurm's own words in quotation marks, on one line and without control characters.

    Text over `n_characters` is cut.
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f'"{line[:n_characters]}…"' if len(line) > n_characters else f'"{line}"'


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
