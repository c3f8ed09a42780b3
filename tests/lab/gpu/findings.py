"""What the parts of the suite find: figures, checks, and what could not be tried.

A part writes each finding as a line of JSON at once, so that what it had measured stays when it is
ended at its limit or the driver takes it down.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Something that was measured in several rounds.

    Attributes:
        name: With its unit, such as "resnet50_bf16_images_per_s".
    """

    name: str
    label: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something that must hold."""

    sentence: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Untried:
    """Something that could not be tried here.

    Attributes:
        what: Such as "TF32".
        why: Such as "this card has no TF32".
    """

    what: str
    why: str


@dataclass(slots=True)
class Findings:
    """All that was found.

    Attributes:
        facts: What the card and its programs say about themselves, by name.
    """

    figures: list[Figure] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    untried: list[Untried] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def add(self, finding: Figure | Check | Untried) -> None:
        kinds = {Figure: self.figures, Check: self.checks, Untried: self.untried}
        kinds[type(finding)].append(finding)

    def extend(self, other: Findings) -> None:
        self.figures += other.figures
        self.checks += other.checks
        self.untried += other.untried
        self.facts |= other.facts


class FindingsFile:
    """Where a part leaves what it finds, line by line.

    Args:
        path: The file; made anew.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.write_text("")

    def figure(self, name: str, label: str, values: Sequence[float]) -> None:
        self._add("figure", asdict(Figure(name=name, label=label, values=tuple(values))))

    def check(self, sentence: str, passed: bool, detail: object = "") -> None:
        self._add("check", asdict(Check(sentence=sentence, passed=passed, detail=str(detail))))

    def untried(self, what: str, why: object) -> None:
        self._add("untried", asdict(Untried(what=what, why=str(why))))

    def fact(self, name: str, value: object) -> None:
        self._add("fact", {"name": name, "value": value})

    def _add(self, kind: str, content: dict[str, Any]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps({"kind": kind, **content}) + "\n")


def read_findings(path: Path) -> Findings:
    """Read what a part left; a last line that is cut off is left out."""
    found = Findings()
    for line in path.read_text().splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        content = json.loads(line)
        kind = content.pop("kind")
        if kind == "fact":
            found.facts[content["name"]] = content["value"]
        elif kind == "figure":
            found.add(Figure(**{**content, "values": tuple(content["values"])}))
        else:
            found.add(Check(**content) if kind == "check" else Untried(**content))
    return found
