"""Ranks: torch DDP over NCCL through dsportal, and the links between GPUs.

The session is made up: the stand-in for srun of the launcher's own tests starts the ranks, so no
Slurm is needed. Everything else is as in a notebook.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from tests.lab.gpu.bench import Bench
from tests.support.checkout import PYTHONPATH

CHECKOUT = Path(__file__).resolve().parents[3]
STAND_INS = CHECKOUT / "tests" / "programs" / "dsportal"
QUEUE_COMMANDS = ("sbatch", "squeue", "scancel", "sacct", "scontrol")
BATCH, SIDE = 256, 224
TINY_BATCH, TINY_SIDE = 2, 32
TRAIN_S = 4.5
N_TINY_RANKS = 2


def check_ranks(bench: Bench) -> None:
    """Start ranks as a notebook does, and judge what they say."""
    n_gpus = torch.cuda.device_count() if bench.is_gpu else N_TINY_RANKS
    plan = {
        "device": bench.device,
        "n_gpus": n_gpus,
        "worlds": _worlds(n_gpus) if bench.is_gpu else [N_TINY_RANKS],
        "batch": BATCH if bench.is_gpu else TINY_BATCH,
        "side": SIDE if bench.is_gpu else TINY_SIDE,
        "width": bench.sizes.width,
        "seconds": TRAIN_S if bench.is_gpu else 0.0,
    }
    outcomes = _run_driver(bench, plan)
    for case, value in outcomes:
        if case == "ranks":
            _judge_places(bench, value)
        elif case == "train":
            _judge_training(bench, plan, value["world"], value["ranks"])
        elif case == "links":
            _judge_links(bench, value)
        else:
            bench.found.check("p2p() on one GPU says to ask for two", "p2p(gpus=2)" in value, value)
    if n_gpus == 1:
        bench.found.untried("links between GPUs, and NCCL between two ranks", "there is one GPU")
    bench.found.untried("ranks on several nodes", "this suite runs on one node without Slurm")


def _worlds(n_gpus: int) -> list[int]:
    """Return 1, 2, 4 and so on, and all."""
    return sorted({1 << power for power in range(n_gpus.bit_length())} | {n_gpus})


def session_environment(folder: Path, *, n_gpus: int, is_gpu: bool) -> dict[str, str]:
    """Make the folder of a session and return its environment, as Slurm and the portal make it."""
    programs, modules = folder / "bin", folder / "modules"
    for made in (programs, modules / "tests"):
        made.mkdir(parents=True)
    _write_program(programs / "srun", STAND_INS / "fake_srun")
    for name in QUEUE_COMMANDS:
        _write_program(programs / name, STAND_INS / "fake_queue")
    # Some packages bring a `tests` of their own, which would be found before ours.
    (modules / "tests" / "__init__.py").write_text(f"__path__ = [{str(CHECKOUT / 'tests')!r}]\n")
    if find_spec("cloudpickle") is None:
        # Functions of a module, as here, travel by their names.
        (modules / "cloudpickle.py").write_text("from pickle import dumps\n")
    of_others = ("SLURM", "SRUN_", "SBATCH_", "PORTAL_", "HOROVOD_")
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(n_gpus)))
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(of_others)},
        "HOME": str(folder),
        "PATH": f"{programs}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": f"{modules}:{PYTHONPATH}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SLURM_JOB_ID": "77",
        "SLURM_CPUS_ON_NODE": str(len(os.sched_getaffinity(0))),
        "SLURM_NTASKS": "1",
        "SLURMD_NODENAME": "node01",
        "PORTAL_N_GPUS": str(n_gpus),
        **({"CUDA_VISIBLE_DEVICES": gpus} if is_gpu else {"PORTAL_GPUS_SIMULATED": "1"}),
    }


def _write_program(path: Path, source: Path) -> None:
    # Run by this Python, whatever "python3" is here.
    _, _, rest = source.read_text().partition("\n")
    path.write_text(f"#!{sys.executable}\n{rest}")
    path.chmod(0o755)


def _run_driver(bench: Bench, plan: dict[str, Any]) -> list[tuple[str, Any]]:
    folder = bench.folder / "session"
    environ = session_environment(folder, n_gpus=plan["n_gpus"], is_gpu=bench.is_gpu)
    done = subprocess.run(
        [sys.executable, "-m", "tests.lab.gpu.rank_driver", json.dumps(plan)],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=max(1.0, bench.left_s),
        check=False,
    )
    bench.found.check(
        "A cell that starts ranks through dsportal runs to its end",
        done.returncode == 0,
        (done.stdout + done.stderr)[-2000:] if done.returncode else "",
    )
    shutil.rmtree(folder)
    lines = [line for line in done.stdout.splitlines() if line.startswith("OUTCOME ")]
    found = [json.loads(line.removeprefix("OUTCOME ")) for line in lines]
    return [(outcome["case"], outcome["value"]) for outcome in found]


def _judge_places(bench: Bench, ranks: list[dict[str, Any]]) -> None:
    n = len(ranks)
    check = bench.found.check
    places = [(r["RANK"], r["LOCAL_RANK"], r["WORLD_SIZE"], r["LOCAL_WORLD_SIZE"]) for r in ranks]
    expected = [(str(rank), str(rank), str(n), str(n)) for rank in range(n)]
    check("Ranks know their places as torchrun tells them", places == expected, places)
    check("Ranks on one node stay off the network", ranks[0]["GLOO_SOCKET_IFNAME"] == "lo")
    if bench.is_gpu:
        gpus = [rank["gpu"] for rank in ranks]
        check("Each rank has a GPU of its own", len(set(gpus)) == n and None not in gpus, gpus)
        seen = [rank["n_seen"] for rank in ranks]
        check("Each rank sees the session's GPUs and no others", set(seen) == {n}, seen)


def _judge_training(
    bench: Bench, plan: dict[str, Any], world: int, ranks: list[dict[str, Any]]
) -> None:
    check, backend = bench.found.check, "nccl" if bench.is_gpu else "gloo"
    check(
        f"DistributedDataParallel on {world} ranks runs over {backend}",
        {rank["backend"] for rank in ranks} == {backend},
        [(rank["backend"], rank["device"]) for rank in ranks],
    )
    check(
        f"{world} ranks have the same weights after training",
        all(rank["are_weights_equal"] for rank in ranks),
    )
    slowest = [max(seconds) for seconds in zip(*(rank["seconds"] for rank in ranks), strict=True)]
    bench.found.figure(
        f"ddp_{world}_ranks_resnet50_bf16_images_per_s",
        f"ResNet50 through dsportal: one step of a training with DistributedDataParallel over "
        f"{backend} on {world} ranks, each with {plan['batch']} images of {plan['side']} x "
        f"{plan['side']}, made up; BF16 by autocast, channels last; all ranks together",
        [world * plan["batch"] / step_s for step_s in slowest],
    )
    buses = [rank["bus_gb_per_s"] for rank in ranks if rank["bus_gb_per_s"] is not None]
    if buses:
        bench.found.figure(
            f"all_reduce_{world}_ranks_bus_gb_per_s",
            f"all-reduce over {backend} on {world} ranks: bytes x 2 (n - 1) / n, one value for "
            "each rank; 10^9 bytes/s",
            buses,
        )


def _judge_links(bench: Bench, ends: list[dict[str, Any]]) -> None:
    links = [link for end in ends for link in end["links"].values()]
    bench.found.check(
        "p2p() measures the way between each two ranks",
        len(links) == len(ends) * (len(ends) - 1),
        f"{len(links)} ways between {len(ends)} ranks",
    )
    words = "as p2p() measures it, one value for each pair of ranks"
    bench.found.figure(
        "p2p_gb_per_s", f"large messages, {words}; 10^9 bytes/s", [x["gb_per_s"] for x in links]
    )
    bench.found.figure(
        "p2p_latency_us",
        f"messages of 4 bytes, {words}; microseconds",
        [x["latency_us"] for x in links],
    )
