"""The aims of the figures. One that is missed is published as missed, and the run is red."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Bound(StrEnum):
    """On which side of the value a figure has to be."""

    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Aim:
    """A bound of a figure, in the figure's own unit."""

    bound: Bound
    value: float

    def is_met(self, figure: float) -> bool:
        """Whether a figure is on the right side; the value itself is."""
        return figure <= self.value if self.bound is Bound.AT_MOST else figure >= self.value

    def words(self, figure: float) -> str:
        """Return such as "at most 1.1: missed"."""
        missed = "" if self.is_met(figure) else ": **missed**"
        return f"{self.bound} {self.value:g}{missed}"


def _at_most(value: float) -> Aim:
    return Aim(Bound.AT_MOST, value)


def _at_least(value: float) -> Aim:
    return Aim(Bound.AT_LEAST, value)


_AIMS: Mapping[str, Mapping[str, Aim]] = {
    "jobs": {
        "notebook_job_extra_s": _at_most(2.0),
        "sweep_vs_array": _at_most(1.1),
        "jobs_page_p95_ms": _at_most(300.0),
    },
    "lend": {
        "first_use_vs_session_start": _at_most(1.0),
        "kernel_latency_ratio": _at_most(1.3),
        "kernel_output_ratio": _at_most(1.3),
        "gpu_hours_saved_percent": _at_least(40),
        "variables_restored_percent": _at_least(95),
        "variables_wrong": _at_most(0),
    },
    "pages": {
        "form_p95_ms": _at_most(20.0),
        "form_p95_ms_100_nodes": _at_most(20.0),
        "burst_vs_stock_home": _at_most(1.3),
        "slurm_calls_per_min": _at_most(4),
    },
    "rush": {
        "login_vs_stock": _at_most(1.25),
        "home_vs_stock": _at_most(1.5),
        # Stock's form asks Slurm nothing.
        "form_vs_stock": _at_most(2.0),
        "ready_vs_stock": _at_most(1.0),
        "at_once_ready_vs_stock": _at_most(1.0),
        "n_errors": _at_most(0),
    },
    "scale": {
        "loop_stop_max_ms": _at_most(50),
        "form_p95_ms_10000": _at_most(100),
        "take_up_s_1000": _at_most(6),
        "take_up_s_10000": _at_most(20),
        "failover_s": _at_most(30),
        "proxy_requests_2_vs_1": _at_least(1.5),
    },
    "session": {"start_all_vs_none": _at_most(1.1)},
    "spawner": {
        "start_vs_bare": _at_most(1.1),
        "start_vs_stock": _at_most(0.6),
        "take_up_s_at_1000": _at_most(6.0),
    },
    "storage": {"shards_vs_jpeg_3ms": _at_least(5)},
    "tensorboard": {
        "charts_vs_stock_page": _at_most(1.0),
        "charts_again_vs_stock_page_again": _at_most(1.0),
    },
    "training": {
        "horovod_images_vs_srun": _at_least(0.98),
        "torch_images_vs_srun": _at_least(0.98),
        "horovod_first_step_extra_vs_srun_s": _at_most(0.5),
        "torch_first_step_extra_vs_srun_s": _at_most(0.5),
        # Horovodrun and torchrun import the framework first.
        "horovod_first_step_extra_s": _at_most(0),
        "torch_first_step_extra_s": _at_most(0),
        "prediction_error_seeds_percent": _at_most(10),
    },
}
# Of INT8 over FP32, on processors that multiply and add bytes in one instruction.
LEAST_WITH_VNNI = 2.5


def aims_of(name: str, figures: Mapping[str, float]) -> dict[str, Aim]:
    """Return the aim of each figure that has one.

    Args:
        figures: What was measured. The aim of two ranks depends on what two trainings by
            themselves reach, which slow each other down on a shared machine.
    """
    aims = {figure: aim for figure, aim in _AIMS.get(name, {}).items() if figure in figures}
    if name == "speedup":
        reachable = 0.97 * figures["speedup_bound_inceptionv3"]
        aims["speedup_2_ranks_inceptionv3"] = _at_least(round(min(1.85, reachable), 2))
    return aims


def missed(name: str, figures: Mapping[str, float]) -> dict[str, str]:
    """Return the figures that miss their aim, with value and aim in words."""
    return {
        figure: f"{figures[figure]}, {aim.bound} {aim.value:g}"
        for figure, aim in aims_of(name, figures).items()
        if not aim.is_met(figures[figure])
    }
