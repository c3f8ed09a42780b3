"""Progress and speed of a run: samples from each rank, combined. Pure."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

# A rank that computes reports every second; one that is silent for longer than this is named.
SILENT_AFTER_S = 5.0
# Ranks that train together are at most this far apart between two reports.
TOGETHER_STEPS = 1
Mark = tuple[float, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Progress of one rank, as it reports it.

    Attributes:
        n_steps: Steps of the whole training; 0 if the rank does not know.
        images_per_s: Average over the last 10 s; 0 at first.
        loss: The loss that it reported last, or None.
        is_done: True if its function has returned.
    """

    step: int
    n_steps: int = 0
    images_per_s: float = 0.0
    loss: float | None = None
    is_done: bool = False

    def as_bytes(self) -> bytes:
        """Return it as JSON."""
        return json.dumps(asdict(self)).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Progress of all ranks together.

    Attributes:
        step: Steps that the furthest rank has done.
        n_steps: Steps of the whole training; 0 if no rank knows.
        images_per_s: Images of all ranks in a second, over the last 10 s; 0 if none are counted.
        loss: The loss of the lowest rank that reports one, or None.
        behind: For each rank, steps behind the furthest one; None before its first report.
        silent_s: For each rank, seconds since its last report; None before its first, 0 once it is
            done.
    """

    step: int
    n_steps: int
    images_per_s: float
    loss: float | None
    behind: tuple[int | None, ...]
    silent_s: tuple[float | None, ...]

    def __str__(self) -> str:
        parts = [f"Step {self.step}"]
        if self.n_steps:
            parts = [f"Step {self.step} of {self.n_steps} ({self.step / self.n_steps:.0%})"]
        if self.images_per_s:
            parts.append(f"{_rate(self.images_per_s)} images/s")
        if self.loss is not None:
            parts.append(f"loss {self.loss:.4g}")
        if lag := self.lag():
            parts.append(lag)
        return ", ".join(parts)

    def done(self, seconds: float) -> str:
        """Return the words for ranks that have done their work in so many seconds."""
        # The last step of a loop that counts from 0 is one less.
        if not self.n_steps:
            work = f"step {self.step}"
        elif self.step >= self.n_steps - 1:
            work = f"{self.n_steps} step{'' if self.n_steps == 1 else 's'}"
        else:
            work = f"step {self.step} of {self.n_steps}"
        minutes = f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"
        time = f"{seconds:.0f} s" if seconds < 100 else minutes
        loss = "" if self.loss is None else f", loss {self.loss:.4g}"
        return f"Done, {work} in {time}{loss}"

    def lag(self) -> str:
        """Return a phrase about the rank that holds up the others; empty for a single rank."""
        if len(self.behind) < 2:
            return ""
        missing = [rank for rank, steps in enumerate(self.behind) if steps is None]
        if missing:
            return f"nothing from {_ranks(missing)} yet"
        quiet = [rank for rank, gap in enumerate(self.silent_s) if (gap or 0) > SILENT_AFTER_S]
        if quiet:
            longest_s = max(self.silent_s[rank] or 0 for rank in quiet)
            return f"no word from {_ranks(quiet)} for {longest_s:.0f} s"
        steps = [steps or 0 for steps in self.behind]
        last = max(steps)
        if last <= TOGETHER_STEPS:
            return "ranks together"
        return f"rank {steps.index(last)} is {last} steps behind"


def sample_of_bytes(value: bytes) -> Sample:
    """Return a sample from JSON, as `Sample.as_bytes` made it.

    Raises:
        ValueError: If it is something else.
    """
    values = json.loads(value)
    try:
        loss = values["loss"]
        return Sample(
            step=int(values["step"]),
            n_steps=int(values["n_steps"]),
            images_per_s=float(values["images_per_s"]),
            loss=None if loss is None else float(loss),
            is_done=bool(values["is_done"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"This is no progress of a rank: {value[:80]!r}.") from error


class ThroughputMeter:
    """Combines samples that ranks send at different moments."""

    def __init__(self, n_ranks: int) -> None:
        self._samples: dict[int, Sample] = {}
        self._marks: dict[int, tuple[Mark, Mark]] = {}
        self._n_ranks = n_ranks

    def feed(self, rank: int, sample: Sample, heard_at_s: float) -> None:
        """Add a sample of a rank, which arrived at `heard_at_s` by one clock for all ranks."""
        new = (heard_at_s, sample.step)
        _, last = self._marks.get(rank, (new, new))
        # The store returns the newest value at each look, new or not.
        if heard_at_s > last[0] or rank not in self._samples:
            self._marks[rank] = (last, new)
            self._samples[rank] = sample

    def pace(self, now_s: float) -> Throughput | None:
        """Return the progress of all ranks; None before the first sample.

        Args:
            now_s: The time by the clock of `feed`.
        """
        if not self._samples:
            return None
        samples = [self._samples[rank] for rank in sorted(self._samples)]
        steps = self._steps_at_once(now_s)
        furthest = max(steps.values())
        losses = [each.loss for each in samples if each.loss is not None]
        return Throughput(
            step=max(each.step for each in samples),
            n_steps=max(each.n_steps for each in samples),
            images_per_s=sum(each.images_per_s for each in samples),
            loss=losses[0] if losses else None,
            behind=tuple(
                round(furthest - steps[rank]) if rank in steps else None
                for rank in range(self._n_ranks)
            ),
            silent_s=tuple(self._silence(rank, now_s) for rank in range(self._n_ranks)),
        )

    def _silence(self, rank: int, now_s: float) -> float | None:
        if rank not in self._samples:
            return None
        return 0.0 if self._samples[rank].is_done else now_s - self._marks[rank][1][0]

    def _steps_at_once(self, now_s: float) -> Mapping[int, float]:
        # Ranks report at different moments, so compare them at the last moment known of all.
        heard = [
            last[0] for rank, (_, last) in self._marks.items() if not self._samples[rank].is_done
        ]
        moment = min([at for at in heard if now_s - at <= SILENT_AFTER_S] or [now_s])
        return {rank: _step_at(moment, *marks) for rank, marks in self._marks.items()}


def _step_at(moment: float, before: Mark, last: Mark) -> float:
    if moment >= last[0] or last[0] == before[0]:
        return last[1]
    share = max(0.0, (moment - before[0]) / (last[0] - before[0]))
    return before[1] + share * (last[1] - before[1])


def _ranks(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 4:
        return f"{len(ranks)} ranks ({ranks[0]}, {ranks[1]}, ...)"
    return f"ranks {', '.join(map(str, ranks))}"


def _rate(images_per_s: float) -> str:
    return f"{images_per_s:,.0f}" if images_per_s >= 100 else f"{images_per_s:.1f}"
