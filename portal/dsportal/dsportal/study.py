"""A scaling study: images/s by ranks, nodes, batch size, precision and threads.

    from dsportal.study import scaling

    study = scaling("resnet50", shapes=("1x1", "1x2", "2x2"), batch_sizes=(32,))
    study                      # the table
    study.advice(1_281_167)    # how many GPUs pay
    study.report()             # one HTML file with tables and plots

Calling `scaling` again with the same arguments resumes a study that was stopped.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from dsportal.advice import Advice, advise
from dsportal.errors import LaunchError, SessionError
from dsportal.notebook.runner import run
from dsportal.scaling.study_config import (
    Config,
    Measurement,
    fit_point,
    make_configs,
    summarize,
)
from dsportal.scaling.study_models import MODELS, measure_steps
from dsportal.scaling.study_report import render_report, render_table
from dsportal.task.folders import folder_title, parent_folder
from dsportal.whole_file import write_whole

Measure = Callable[[Config], Sequence[Sequence[float]]]


class Study:
    """Measurements of a study, kept in its folder.

    Args:
        folder: Folder of `study.json` and the report; need not exist.
    """

    def __init__(self, name: str, folder: Path, measurements: list[Measurement]) -> None:
        self.name = name
        self.folder = folder
        self.measurements = measurements

    def __repr__(self) -> str:
        return render_table(self.measurements)

    def advice(self, images_per_epoch: int = 0, precision: str = "fp32") -> Advice:
        """Advise how many GPUs pay for this training, from the measurements with the largest batch.

        Args:
            images_per_epoch: Images of one epoch, for GPU hours; 0 leaves them out.
            precision: One of the study's precisions.
        """
        rows = [each for each in self.measurements if each.config.precision == precision]
        largest = max((each.config.batch_size for each in rows), default=0)
        # The model is fitted to points with the same batch on each GPU.
        points = [fit_point(each) for each in rows if each.config.batch_size == largest]
        try:
            return advise(points, largest, images_per_epoch)
        except ValueError as error:
            raise LaunchError(f"No advice from this study: {error}") from error

    def report(self) -> Path:
        """Write tables and plots into one HTML file."""
        path = self.folder / "report.html"
        path.write_text(render_report(self.name, self.measurements), encoding="utf-8")
        return path

    def save(self) -> None:
        """Write the measurements; a reader sees the old file or the new one."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        rows = [asdict(each) for each in self.measurements]
        text = json.dumps({"name": self.name, "measurements": rows}, indent=1)
        # A study that is stopped here keeps its measurements.
        write_whole(self.folder / "study.json", text.encode())


def scaling(
    train: str | Callable[..., Callable[[], object]],
    *,
    shapes: Sequence[str] = ("1x1", "1x2"),
    batch_sizes: Sequence[int] = (32,),
    precisions: Sequence[str] = ("fp32",),
    threads: Sequence[int] = (0,),
    scaling: Literal["weak", "strong"] = "weak",
    steps: int = 30,
    warmup_steps: int = 5,
    folder: Path | None = None,
) -> Study:
    """Measure a training on different numbers of GPUs and nodes.

    Args:
        train: Name of a model (alexnet, inceptionv3, resnet50, vgg16), trained with Keras and
            Horovod on random images; or a function `f(batch_size, precision)` that runs on every
            rank and returns a function that runs one training step.
        shapes: Nodes x ranks on each: "2x4" is 8 GPUs on 2 nodes. Those of more nodes than the
            session's partition has are left out.
        batch_sizes: Images of a step: on each rank for weak scaling, on all ranks together for
            strong scaling.
        precisions: "fp32", "mixed" or both.
        threads: Numbers of threads of each rank; 0 is the run's default.
        scaling: "weak" keeps the batch of each rank constant, "strong" the batch of all ranks.
        steps: Steps to measure, 2 or more.
        warmup_steps: Steps before them that are not measured.
        folder: Where to keep the measurements; None for a folder under ~/portal-runs/studies.

    Returns:
        The study; a notebook shows its table.
    """
    configs = make_configs(shapes, batch_sizes, precisions, threads, scaling)
    name = model_name(train)
    settings = [name, steps, warmup_steps, [asdict(config) for config in configs]]
    # Other settings get another folder, the same settings find their measurements again.
    key = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:6]
    path = folder or parent_folder() / "studies" / f"{folder_title(name)}-{key}"

    def measure(config: Config) -> Sequence[Sequence[float]]:
        found: Sequence[Sequence[float]] = run(
            measure_steps,
            train,
            config,
            steps,
            warmup_steps,
            gpus=config.shape.n_ranks,
            nodes=config.n_nodes,
            results="all",
        )
        return found

    return complete(load(name, path), configs, measure)


def load(name: str, folder: Path) -> Study:
    """Return a study with its earlier measurements; without any if `folder` has none."""
    path = folder / "study.json"
    rows = json.loads(path.read_text())["measurements"] if path.is_file() else []
    found = [Measurement(**{**row, "config": Config(**row["config"])}) for row in rows]
    return Study(name, folder, found)


def complete(study: Study, configs: Sequence[Config], measure: Measure) -> Study:
    """Measure the configurations that a study lacks, and return the same study.

    It is saved after each configuration. `measure` returns the seconds of each step for each rank.
    A configuration that does not fit the session's partition is left out, with the reason.
    """
    done = {each.config for each in study.measurements}
    left = [config for config in configs if config not in done]
    took_s: list[float] = []
    for number, config in enumerate(left, len(configs) - len(left) + 1):
        remaining = f", about {_rest(took_s, len(configs) - number + 1)} left" if took_s else ""
        print(f"[{number} of {len(configs)}{remaining}] {config}", flush=True)
        began = time.monotonic()
        try:
            measurement = summarize(config, measure(config))
        except SessionError as error:
            # With at least one measurement there is something to show, so the rest is only left
            # out.
            if config == left[-1] and not study.measurements:
                raise
            print(f"    left out: {error}", flush=True)
            continue
        took_s.append(time.monotonic() - began)
        study.measurements.append(measurement)
        # After each one: a study may be longer than the session.
        study.save()
        print(f"    {measurement.images_per_s:.1f} images/s", flush=True)
    return study


def _rest(took_s: Sequence[float], n_left: int) -> str:
    seconds = sum(took_s) / len(took_s) * n_left
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def model_name(train: object) -> str:
    """Return the name of a model or function that a user passed as `train`."""
    if isinstance(train, str):
        if train not in MODELS:
            raise LaunchError(f"There is no model {train!r}; choose {', '.join(MODELS)}.")
        return train
    if not callable(train):
        raise LaunchError(
            "scaling takes the name of a model or a function f(batch_size, precision)."
        )
    return str(getattr(train, "__name__", "function"))
