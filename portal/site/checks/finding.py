"""Checks and their findings, printed as lines with a cure or as JSON."""

import textwrap
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum

WIDTH = 100
# The width of the column of grades.
_INDENT = " " * 9
_N_LETTERS = 300


class Grade(Enum):
    """Severity. Only a problem keeps users from sessions or opens a door."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes:
        cure: What to do; empty if nothing has to be done.
    """

    grade: Grade
    sentence: str
    cure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a site.

    Attributes:
        name: For --only and monitoring.
        timeout_s: Seconds after which the check counts as unanswered.
    """

    name: str
    run: Callable[[], Awaitable[list[Finding]]]
    timeout_s: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one check found, and how long it took."""

    check: str
    findings: list[Finding]
    took_s: float

    def to_lines(self) -> str:
        """Return the lines for a terminal, 100 characters wide."""
        return "\n".join(line for one in self.findings for line in self._format_lines(one))

    def to_json(self) -> list[dict[str, object]]:
        """Return an object for each finding, for monitoring."""
        return [
            {
                "check": self.check,
                "grade": one.grade.value,
                "sentence": one.sentence,
                "cure": one.cure,
                "took_s": round(self.took_s, 3),
            }
            for one in self.findings
        ]

    def _format_lines(self, finding: Finding) -> list[str]:
        first = f"{finding.grade.value:<9}{self.check}: {finding.sentence}"
        cure = [f"{_INDENT}-> {finding.cure}"] if finding.cure else []
        return [
            line
            for text in (first, *cure)
            for line in textwrap.wrap(
                text,
                WIDTH,
                subsequent_indent=_INDENT,
                # Paths and commands stay in one piece, so that they can be copied.
                break_on_hyphens=False,
                break_long_words=False,
            )
        ]


def ok(sentence: str) -> Finding:
    """Return that something is in order."""
    return Finding(grade=Grade.OK, sentence=sentence)


def warning(sentence: str, cure: str) -> Finding:
    """Return that something will hurt later, or hurts some users."""
    return Finding(grade=Grade.WARNING, sentence=sentence, cure=cure)


def problem(sentence: str, cure: str) -> Finding:
    """Return that something keeps users from sessions, or opens a door."""
    return Finding(grade=Grade.PROBLEM, sentence=sentence, cure=cure)


def skipped(sentence: str, cure: str = "") -> Finding:
    """Return that something was not checked.

    `sentence` says why not; `cure` says how to have it checked.
    """
    return Finding(grade=Grade.SKIPPED, sentence=sentence, cure=cure)


# Grade, sentence and cure, with the places of a row's words in them.
Saying = tuple[Grade, str, str]
_UNREADABLE: Saying = (
    Grade.WARNING,
    "{node}: the answer of the job cannot be read: {0}.",
    "Run the check again.",
)


def read_rows(rows: object, sayings: Mapping[str, Saying], **names: str) -> list[Finding]:
    """Return what the rows mean that a job printed: each the key of a saying, and its words.

    It ran as a user, who could have printed anything. `names` has `node`, and what else the sayings
    name.
    """
    found = []
    for row in rows if isinstance(rows, list) else [rows]:
        key, *words = map(printable, row if isinstance(row, list) and row else ["", row])
        grade, sentence, cure = sayings.get(key, _UNREADABLE)
        # Words that are missing are empty.
        words += [""] * 8
        said = (text.format(*words, **names) for text in (sentence, cure))
        found.append(Finding(grade, *said))
    return found


def printable(value: object) -> str:
    """Return a value as a line that moves no terminal's cursor."""
    text = "" if value is None else str(value)[:_N_LETTERS]
    return "".join(one if one.isprintable() else " " for one in text).strip().rstrip(".")
