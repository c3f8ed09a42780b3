"""nvidia-smi and NVML as the portal reads them, and what it makes of them: at rest and at work."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import torch

from deploy.one_machine.gpus import find_gpus, format_gres, parse_nvidia_smi
from portal.server.base.gpus import GpuReading, Gpus
from portal.server.base.idle import IdleState, IdleWatch, Observation, is_used
from portal.settings.idle import IdleSettings
from tests.lab.gpu.bench import MIB, Bench

HELD_MIB = 2048
REST_WITHIN_S = 20.0
LOOK_EVERY_S = 0.5
N_SAMPLES = 10
POLICY = IdleSettings(after_minutes=1, warning_minutes=0.5, gpu_percent=5.0, cpu_percent=5.0)


class Load:
    """Products of matrices, one after the other, in a thread, while the block lasts."""

    def __init__(self, bench: Bench) -> None:
        self._matrix = torch.rand(bench.sizes.matrix, bench.sizes.matrix, device=bench.device)
        self._bench = bench
        self._stop = threading.Event()
        self.is_on = False

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        self.is_on = True
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
            self.is_on = False

    def _run(self) -> None:
        while not self._stop.is_set():
            self._matrix @ self._matrix
            self._bench.wait()


class Rehearsal:
    """Reads a GPU that is not there, so that the suite can be tried: busy while the load is on."""

    def __init__(self, load: Load) -> None:
        self._load = load

    def read(self) -> tuple[GpuReading, ...]:
        return (GpuReading(name="rehearsal", use_percent=97.0 if self._load.is_on else 0.0),)


def check_readings(bench: Bench) -> None:
    """What is read against what PyTorch says; then use, meter and idle policy."""
    load = Load(bench)
    if not bench.is_gpu:
        bench.found.untried("nvidia-smi, NVML and MIG", "there is no GPU")
        _check_use(bench, Rehearsal(load), load)
        return
    _check_gres(bench)
    if find_spec("pynvml") is None:
        bench.found.untried("NVML, meter and idle policy", "this Python has no pynvml")
        return
    gpus = Gpus(os.environ)
    readings = gpus.read()
    bench.found.fact("readings_at_rest", [reading.as_json() for reading in readings])
    _check_against_torch(bench, readings)
    _check_memory(bench, gpus)
    if all(reading.use_percent is None for reading in readings):
        bench.found.untried("use of the GPU", "NVML does not say it, as for parts of a GPU (MIG)")
        return
    if not any(reading.name and "MIG" in reading.name for reading in readings):
        bench.found.untried("parts of a GPU (MIG)", "this card is not divided")
    _check_use(bench, gpus, load)


def _check_gres(bench: Bench) -> None:
    program = shutil.which("nvidia-smi")
    if program is None:
        bench.found.untried("nvidia-smi and the Gres of deploy/up", "there is no nvidia-smi")
        return
    done = subprocess.run([program, "-q", "-x"], capture_output=True, text=True, check=True)
    gpus = parse_nvidia_smi(done.stdout)
    gres = format_gres(gpus)
    bench.found.fact("gres", gres)
    bench.found.check(
        "What nvidia-smi prints becomes a Gres with a type and a device file for each GPU",
        bool(gpus) and all(gpu.gres_type != "gpu" for gpu in gpus),
        f"Gres={gres}; devices {[gpu.minor for gpu in gpus]}",
    )
    bench.found.check(
        "deploy/up, with the system's own search path, finds the same GPUs",
        find_gpus() == gpus,
        f"nvidia-smi is {program}",
    )
    if "CUDA_VISIBLE_DEVICES" not in os.environ:
        n = torch.cuda.device_count()
        bench.found.check(
            "nvidia-smi lists as many GPUs as PyTorch sees", len(gpus) == n, f"{len(gpus)}, {n}"
        )


def _check_against_torch(bench: Bench, readings: Sequence[GpuReading]) -> None:
    cards = [torch.cuda.get_device_properties(n) for n in range(torch.cuda.device_count())]
    bench.found.check(
        "The session's GPUs are those that PyTorch sees",
        sorted(r.name for r in readings) == sorted(card.name for card in cards),
        [r.name for r in readings],
    )
    totals = sorted(r.memory_total_mib or 0 for r in readings)
    expected = sorted(card.total_memory // MIB for card in cards)
    # The driver keeps a part, which PyTorch does not count.
    fits = len(totals) == len(expected) and all(
        0.9 * total <= seen <= total for total, seen in zip(totals, expected, strict=True)
    )
    bench.found.check("Their memory is what PyTorch sees", fits, f"{totals}, {expected} MiB")
    has_temperature = all(0 < (r.temperature_c or 0) < 120 for r in readings)
    bench.found.check(
        "Their temperature is read", has_temperature, [r.temperature_c for r in readings]
    )


def _check_memory(bench: Bench, gpus: Gpus) -> None:
    free_mib = torch.cuda.mem_get_info()[0] // MIB
    held_mib = min(HELD_MIB, free_mib // 2)
    before = gpus.read()
    held = torch.ones(held_mib * MIB, dtype=torch.uint8, device=bench.device)
    after = gpus.read()
    grown = [(b.memory_mib or 0) - (a.memory_mib or 0) for a, b in zip(before, after, strict=True)]
    del held
    torch.cuda.empty_cache()
    bench.found.check(
        f"Memory in use grows by the {held_mib} MiB that a program takes, on one GPU",
        sum(0.9 * held_mib <= n <= 1.2 * held_mib + 512 for n in grown) == 1,
        f"grown by {grown} MiB",
    )


def _check_use(bench: Bench, gpus: Gpus | Rehearsal, load: Load) -> None:
    rest = _wait_for_rest(bench, gpus)
    with load.running():
        busy = _read_for(bench, gpus)
        metered = asyncio.run(_sample(bench, gpus))
    after = _wait_for_rest(bench, gpus)
    # The first readings are still of the time before.
    settled = busy[len(busy) // 2 :]
    bench.found.figure(
        "use_under_load_percent",
        "use of the GPU while products of matrices follow each other without a pause, as the "
        "session reads it, percent",
        [max(percents) for percents in settled],
    )
    _check_policy(bench, at_rest=[rest, after], under_load=settled)
    if metered is not None:
        bench.found.check(
            "The meter of the session sees the load",
            max(metered, default=0.0) >= POLICY.gpu_percent,
            metered,
        )


Percents = tuple[float, ...]


def _read(gpus: Gpus | Rehearsal) -> Percents:
    return tuple(gpu.use_percent for gpu in gpus.read() if gpu.use_percent is not None)


def _read_for(bench: Bench, gpus: Gpus | Rehearsal) -> list[Percents]:
    ends_s = time.monotonic() + bench.sizes.load_s
    every_s = min(LOOK_EVERY_S, bench.sizes.load_s / 4)
    readings = [_read(gpus)]
    while time.monotonic() < ends_s:
        time.sleep(every_s)
        readings.append(_read(gpus))
    return readings


def _wait_for_rest(bench: Bench, gpus: Gpus | Rehearsal) -> Percents:
    # NVML tells the use of a time that has passed, up to a second.
    ends_s = time.monotonic() + min(REST_WITHIN_S, bench.left_s)
    while max(percents := _read(gpus)) >= POLICY.gpu_percent and time.monotonic() < ends_s:
        time.sleep(LOOK_EVERY_S)
    return percents


async def _sample(bench: Bench, gpus: Gpus | Rehearsal) -> Percents | None:
    if find_spec("psutil") is None:
        bench.found.untried("the meter of the session", "this Python has no psutil")
        return None
    from portal.server.base.cgroup import Allotment, Processes
    from portal.server.base.resource_usage import Meter

    allotment = Allotment(n_cores=1, memory_mib=None)
    meter = Meter(Processes(""), gpus, allotment, interval_s=1.0)
    for _ in range(N_SAMPLES):
        # A driver that takes seconds to answer leaves a sample without GPUs.
        if (found := (await meter.take_sample()).gpus) is not None:
            return tuple(gpu.use_percent or 0.0 for gpu in found)
    return ()


def _check_policy(
    bench: Bench, *, at_rest: Sequence[Percents], under_load: Sequence[Percents]
) -> None:
    for percents in at_rest:
        bench.found.check(
            "A GPU at rest counts as idle", not is_used(POLICY, _seen(percents)), percents
        )
        state = _state_after(percents, 2 * POLICY.after_s)
        bench.found.check(
            "A session whose GPU rests is warned after the time of the policy",
            state is IdleState.WARNED,
            state.value,
        )
    bench.found.check(
        "A GPU under load counts as in use",
        all(is_used(POLICY, _seen(percents)) for percents in under_load),
        list(under_load),
    )
    state = _state_after(under_load[-1], 100 * POLICY.after_s)
    bench.found.check(
        "A session whose GPU computes is kept, however long", state is IdleState.USED, state.value
    )


def _seen(percents: Percents, now_s: float = 0.0) -> Observation:
    # Nothing but the GPU says that the session is used.
    return Observation(
        now_s=now_s,
        gpu_percents=percents,
        is_kernel_busy=False,
        programs_percent=0.0,
        input_s=0.0,
    )


def _state_after(percents: Percents, seconds: float) -> IdleState:
    watch = IdleWatch(POLICY, 0.0, save_s=10.0)
    return watch.look(_seen(percents, now_s=seconds))
