"""Configurations that a scaling study measures, and the figures of each."""

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from dsportal.errors import LaunchError
from dsportal.launch.layout import Layout
from dsportal.scaling.step_time import Point

_SHAPE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,2})", re.ASCII)
PRECISIONS = ("fp32", "mixed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One configuration to measure.

    Attributes:
        batch_size: Images of a step on each rank.
        precision: "fp32" or "mixed".
        n_threads: Threads of each rank; 0 for the run's default.
    """

    n_nodes: int
    ranks_per_node: int
    batch_size: int
    precision: str = "fp32"
    n_threads: int = 0

    @property
    def shape(self) -> Layout:
        """Ranks and nodes."""
        return Layout(n_ranks=self.n_nodes * self.ranks_per_node, n_nodes=self.n_nodes)

    def __str__(self) -> str:
        threads = f", {self.n_threads} threads" if self.n_threads else ""
        return (
            f"{self.n_nodes}x{self.ranks_per_node}, batch {self.batch_size}, {self.precision}"
            f"{threads}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The figures of one configuration.

    Attributes:
        images_per_s: Images of all ranks over the time of all steps after the warm-up.
        spread: Standard deviation of the steps' images/s, in images/s.
        step_s: Mean time of a step in seconds; a step lasts as long as on its slowest rank.
    """

    config: Config
    images_per_s: float
    spread: float
    step_s: float
    n_steps: int


def make_configs(
    shapes: Iterable[str],
    batch_sizes: Iterable[int],
    precisions: Iterable[str],
    threads: Iterable[int],
    scaling: Literal["weak", "strong"],
) -> list[Config]:
    """Return every combination, in the order given and without duplicates.

    Args:
        shapes: Such as "2x4": nodes x ranks on each.
        batch_sizes: Images of a step: on each rank for weak scaling, on all ranks together for
            strong scaling.
    """
    if scaling not in {"weak", "strong"}:
        raise LaunchError(f"You asked for scaling={scaling!r}. Choose 'weak' or 'strong'.")
    configs = []
    for text in shapes:
        match = _SHAPE.fullmatch(text)
        if match is None:
            raise LaunchError(f"{text!r} is no shape. Write nodes x ranks on each, such as '2x4'.")
        n_nodes, ranks_per_node = int(match[1]), int(match[2])
        for batch_size in batch_sizes:
            n_images = batch_size
            if scaling == "strong":
                n_images, rest = divmod(batch_size, n_nodes * ranks_per_node)
                if rest or not n_images:
                    raise LaunchError(
                        f"A batch of {batch_size} cannot be shared by {text} ranks evenly. Choose "
                        f"a multiple of {n_nodes * ranks_per_node}."
                    )
            for precision in precisions:
                if precision not in PRECISIONS:
                    raise LaunchError(f"{precision!r} is no precision: {', '.join(PRECISIONS)}.")
                configs += [
                    Config(
                        n_nodes=n_nodes,
                        ranks_per_node=ranks_per_node,
                        batch_size=n_images,
                        precision=precision,
                        n_threads=n_threads,
                    )
                    for n_threads in threads
                ]
    return list(dict.fromkeys(configs))


def summarize(config: Config, steps_of_ranks: Sequence[Sequence[float]]) -> Measurement:
    """Return the figures of a configuration.

    Args:
        steps_of_ranks: Seconds of each step after the warm-up, for each rank.
    """
    # Gradients are averaged over all ranks, so that none continues before the slowest.
    steps_s = [max(times) for times in zip(*steps_of_ranks, strict=True)]
    n_images = config.batch_size * config.shape.n_ranks
    rates = [n_images / step_s for step_s in steps_s]
    return Measurement(
        config=config,
        # All images over all time; the mean of the rates would give slow steps too little weight.
        images_per_s=n_images * len(steps_s) / sum(steps_s),
        spread=statistics.stdev(rates) if len(rates) > 1 else 0.0,
        step_s=statistics.mean(steps_s),
        n_steps=len(steps_s),
    )


def fit_point(measurement: Measurement) -> Point:
    """Return a measurement as a point that the model of the step time is fitted to."""
    error = measurement.spread / measurement.images_per_s / measurement.n_steps**0.5
    return Point(n_gpus=measurement.config.shape.n_ranks, step_s=measurement.step_s, error=error)
