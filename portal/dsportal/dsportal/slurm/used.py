"""What a job used of what it held, as Slurm and jobstats measured it, and what to do better."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dsportal.amounts import MIB_PER_GIB, SECONDS_PER_HOUR
from dsportal.slurm.errors import OptionsError
from dsportal.slurm.jobstats import parse_jobstats
from dsportal.slurm.listing import Sacct
from dsportal.slurm.units import parse_memory, parse_time_left

# With the steps, which Slurm measures; the line of the job says what it held.
_MEASURED = ("TRESUsageInMax", "TRESUsageInTot", "AdminComment")
USED = Sacct(("JobID", "ElapsedRaw", "AllocTRES", *_MEASURED, "JobName"))
# Slurm measures every 30 s, and a short job says nothing about a long one.
_SHORTEST_FOR_ADVICE_S = 120
# Below, GPUs or cores do nothing; above, memory or cores are nearly all in use.
_IDLE_GPU_PERCENT = 5
_FEW_CORES = 0.25
_NEARLY_ALL = 0.9
# Less would read as nothing.
_LEAST_SHOWN_MIB = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUse:
    """What a job held, and what was measured of it.

    Attributes:
        cpu_s: Seconds of CPU, of all cores together; None if not measured, as all below.
        peak_memory_mib: The most memory of one step, of all its nodes.
        mean_gpu_percent: Use of all its GPUs over its whole time on average, 0 to 100.
        peak_gpu_percent: The highest use of the GPUs of one task, up to 100 for each GPU.
        peak_gpu_memory_mib: The most memory of GPUs of one task, or of all GPUs by jobstats.
    """

    elapsed_s: int
    n_cores: int = 0
    memory_mib: int = 0
    n_gpus: int = 0
    cpu_s: int | None = None
    peak_memory_mib: int | None = None
    mean_gpu_percent: float | None = None
    peak_gpu_percent: int | None = None
    peak_gpu_memory_mib: int | None = None

    @property
    def mean_cores(self) -> float | None:
        """Cores that computed on average; None if not known."""
        return None if self.cpu_s is None or not self.elapsed_s else self.cpu_s / self.elapsed_s

    @property
    def amounts(self) -> str:
        """What it used, in words; "" if nothing was measured."""
        parts = []
        if self.mean_cores is not None:
            parts.append(f"{self.mean_cores:.1f} of {self.n_cores} cores on average")
        if (self.peak_memory_mib or 0) >= _LEAST_SHOWN_MIB:
            limit = f" of {_gb(self.memory_mib)}" if self.memory_mib else ""
            parts.append(f"at most {_gb(self.peak_memory_mib or 0)}{limit} GB of memory")
        if self.mean_gpu_percent is not None:
            held_h = self.n_gpus * self.elapsed_s / SECONDS_PER_HOUR
            used_h = held_h * self.mean_gpu_percent / 100
            hours = f", which is {used_h:.1f} of {held_h:.1f} GPU hours" if held_h >= 0.1 else ""
            parts.append(f"its GPUs {self.mean_gpu_percent:.0f} % on average{hours}")
        if self.peak_gpu_percent is not None:
            parts.append(f"its GPUs at most to {self.peak_gpu_percent} %")
        if self.peak_gpu_memory_mib is not None:
            parts.append(f"at most {_gb(self.peak_gpu_memory_mib)} GB of GPU memory")
        return ", ".join(parts)

    @property
    def advice(self) -> str:
        """What to ask for next time, in a sentence; "" if nothing is to be said."""
        if self.elapsed_s < _SHORTEST_FOR_ADVICE_S:
            return ""
        if self.n_gpus and self.peak_gpu_percent is not None:
            if self.peak_gpu_percent < _IDLE_GPU_PERCENT:
                return "Nothing computed on its GPUs: ask for none, or move the model to the GPU."
            if self.n_gpus > 1 and self.peak_gpu_percent <= 100 * (self.n_gpus - 1):
                return "At least one GPU did nothing at any time: ask for fewer, or use run()."
        mean = self.mean_gpu_percent
        if self.n_gpus and mean is not None and mean < _IDLE_GPU_PERCENT:
            return "Its GPUs did next to nothing: ask for them only for a cell: with gpus(1):"
        peak_mib, cores = self.peak_memory_mib, self.mean_cores
        if peak_mib and self.memory_mib and peak_mib > _NEARLY_ALL * self.memory_mib:
            return "Its memory was nearly full: ask for more next time."
        if cores is not None and self.n_gpus and cores > _NEARLY_ALL * self.n_cores:
            return (
                "All its cores were busy, so GPUs may have waited for them: prepare the data once, "
                "as shards, or ask for more cores with each GPU."
            )
        if cores is not None and not self.n_gpus and 1 < self.n_cores * _FEW_CORES > cores:
            return "Most of its cores did nothing: ask for fewer next time."
        return ""

    @property
    def sentences(self) -> str:
        """Both as sentences; "" if nothing was measured."""
        return f"It used {self.amounts}. {self.advice}".strip() if self.amounts else ""


def parse_uses(text: str, nonce: str, *, step_name: str = "") -> dict[str, JobUse]:
    """Return the use of each job that sacct lists, by its id, such as "12" or "12_3".

    Args:
        text: Lines of `USED`, with those of steps; others are skipped.
        step_name: Of a run in a session: only its steps count, and what they held.

    Source:
        sacct(1), TRESUsageInMax and TRESUsageInTot, and common_jag.c, Slurm 22.05 to 25.11: of
        gres/gpuutil and gres/gpumem Slurm keeps the highest value of each task, and the last one:
        TRESUsageInAve is the mean of the last ones of all tasks, and no average over time.
        They are there with AccountingStorageTRES=gres/gpuutil,gres/gpumem and AutoDetect=nvml.
    """
    uses: dict[str, JobUse] = {}
    for row_id, elapsed, held, most, total, comment, name in USED.rows(text, nonce):
        job_id, _, step = row_id.partition(".")
        if step_name and (not step or name != step_name):
            continue
        # The line of the job comes first; that of a step says what the step held.
        use = uses.get(job_id) or _with_summary(_held(elapsed, held), comment)
        uses[job_id] = _with_step(use, _parse_tres(most), _parse_tres(total)) if step else use
    return uses


def _held(elapsed: str, tres: str) -> JobUse:
    held = _parse_tres(tres)
    typed = (_number(held, name) or 0 for name in held if name.startswith("gres/gpu:"))
    return JobUse(
        elapsed_s=int(elapsed) if elapsed.isdecimal() else 0,
        n_cores=_number(held, "cpu") or 0,
        memory_mib=_mib(held, "mem") or 0,
        n_gpus=_number(held, "gres/gpu") or sum(typed),
    )


def _with_summary(use: JobUse, comment: str) -> JobUse:
    summary = parse_jobstats(comment)
    if summary is None:
        return use
    return replace(
        use,
        mean_gpu_percent=summary.mean_percent,
        peak_gpu_memory_mib=summary.peak_memory_mib,
    )


def _with_step(use: JobUse, most: Mapping[str, str], total: Mapping[str, str]) -> JobUse:
    return replace(
        use,
        # Steps of a job add up; of those at the same time memory is not known together.
        cpu_s=_sum(use.cpu_s, parse_time_left(total["cpu"]) if "cpu" in total else None),
        peak_memory_mib=_most(use.peak_memory_mib, _mib(most, "mem"), _mib(total, "mem")),
        peak_gpu_percent=_most(use.peak_gpu_percent, _number(most, "gres/gpuutil")),
        peak_gpu_memory_mib=_most(use.peak_gpu_memory_mib, _mib(most, "gres/gpumem")),
    )


def _parse_tres(text: str) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in text.split(","))
    return {name: value for name, _, value in pairs if value}


def _number(tres: Mapping[str, str], name: str) -> int | None:
    text = tres.get(name, "")
    return int(text) if text.isdecimal() else None


def _mib(tres: Mapping[str, str], name: str) -> int | None:
    text = tres.get(name, "")
    try:
        # Of usage a number without a unit is in bytes, and so small only if it is 0.
        return None if not text else parse_memory(text) if not text.isdecimal() else 0
    except OptionsError:
        return None


def _sum(one: int | None, other: int | None) -> int | None:
    known = [number for number in (one, other) if number is not None]
    return sum(known) if known else None


def _most(*numbers: int | None) -> int | None:
    return max((number for number in numbers if number is not None), default=None)


def _gb(memory_mib: int) -> str:
    return f"{memory_mib / MIB_PER_GIB:.1f}".removesuffix(".0")
