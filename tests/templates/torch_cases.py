"""Training with PyTorch from a session, as in a notebook; run as `torch_cases.py CASE...`.

The environment, the outcome lines and the folders are those of tests/support/launch_cases.py.
"""

import os
import sys

import launch_cases

from dsportal import LaunchError, attach, run

N_STEPS = 20
GLOBAL_BATCH = 32


def make_model():
    import torch
    from torch import nn

    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def make_batches():
    """Return images float32 (steps, batch, 6) and labels int64 (steps, batch)."""
    import torch

    chance = torch.Generator().manual_seed(3)
    images = torch.rand((N_STEPS, GLOBAL_BATCH, 6), generator=chance)
    return images, (images.sum(dim=2) * 7).long() % 3


def fit(model, images, labels):
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    for batch, truth in zip(images, labels, strict=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(batch), truth).backward()
        optimizer.step()
    return [parameter.detach().numpy() for parameter in model.parameters()]


def train_on_ranks():
    """Runs on a rank: what a function for torchrun does."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    rank, n_ranks = dist.get_rank(), dist.get_world_size()
    images, labels = make_batches()
    share = slice(rank * GLOBAL_BATCH // n_ranks, (rank + 1) * GLOBAL_BATCH // n_ranks)
    weights = fit(DistributedDataParallel(make_model()), images[:, share], labels[:, share])
    dist.destroy_process_group()
    return {
        "rank": rank,
        "n_ranks": n_ranks,
        "local_rank": os.environ["LOCAL_RANK"],
        "interface": os.environ["GLOO_SOCKET_IFNAME"],
        "weights": weights,
    }


def compare_with_one_process(**shape):
    import numpy as np

    ranks = run(train_on_ranks, results="all", **shape)
    alone = fit(make_model(), *make_batches())
    first, *others = ranks
    return {
        "places": [[rank["rank"], rank["n_ranks"], rank["local_rank"]] for rank in ranks],
        "interface": first["interface"],
        "ranks_equal": all(
            np.array_equal(a, b)
            for other in others
            for a, b in zip(first["weights"], other["weights"], strict=True)
        ),
        "largest_difference": max(
            float(np.abs(a - b).max()) for a, b in zip(first["weights"], alone, strict=True)
        ),
    }


def case_torch_on_one_node():
    """Two ranks in the session."""
    return compare_with_one_process(gpus=2)


def case_torch_on_two_nodes():
    """One rank on each of two nodes."""
    return compare_with_one_process(gpus=2, nodes=2)


def case_torch_2x2_ranks():
    """Two ranks on each of two nodes."""
    return compare_with_one_process(gpus=4, nodes=2)


def case_torch_4x1_ranks():
    """One rank on each of four nodes."""
    return compare_with_one_process(gpus=4, nodes=4)


def case_torch_alone():
    """A rank that would train alone."""

    def alone():
        import torch.distributed as dist

        dist.init_process_group("gloo", rank=0, world_size=1)

    try:
        run(alone, gpus=2)
    except LaunchError as error:
        return {"text": str(error)}
    return {}


def exit_while_reducing(how):
    """Runs on a rank: rank 1 ends without a word, and rank 0 loses it while it averages."""
    import signal

    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    if dist.get_rank() == 1:
        os._exit(9) if how == "exit" else os.kill(os.getpid(), getattr(signal, how))
    dist.all_reduce(torch.ones(1))


def case_torch_exit():
    """Rank 1 exits, or a signal ends it, on the second of two nodes."""
    return {
        how: launch_cases.failure_of(run_on_two_nodes, exit_while_reducing, how)
        for how in ("exit", "SIGSEGV", "SIGKILL")
    }


def run_on_two_nodes(function, *words):
    return run(function, *words, gpus=2, nodes=2)


def train_until_the_limit():
    """Runs on a rank: counts steps, saves them when told to, and goes on from there."""
    import time

    import torch
    import torch.distributed as dist

    from dsportal import checkpoint

    dist.init_process_group("gloo")
    saved = checkpoint.latest("state.pt")
    step = torch.load(saved)["step"] if saved else 0
    first_step = step
    while not saved or step < first_step + 5:
        total = torch.ones(1)
        dist.all_reduce(total)
        step += 1
        if dist.get_rank() == 0 and checkpoint.is_due():
            with checkpoint.writing("state.pt") as path:
                torch.save({"step": step}, path)
            print(f"saved at step {step}", flush=True)
            checkpoint.finish()
        time.sleep(0.1)
    return {"first_step": first_step, "last_step": step}


def case_limit():
    """A run meets its time limit, saves on the warning and is resumed."""
    shape = {"gpus": 2, "nodes": 2}
    started = run(train_until_the_limit, wait=False, hours=1 / 60, **shape)
    first = started.wait()
    state = attach(started.id).state
    resumed = run(train_until_the_limit, resume=True, **shape)
    return {
        "first": first,
        "state": state,
        "output": started.output(0),
        "resumed": resumed,
    }


def case_links():
    """p2p() on simulated GPUs; the same messages between CPUs if the GPUs are real."""
    from dsportal.gpu_links import Links, measure_links, p2p

    if os.environ.get("PORTAL_GPUS_SIMULATED") == "1":
        links = p2p(gpus=2)
    else:
        links = Links(run(measure_links, "cpu", 1 << 20, gpus=2, results="all"))
    return {
        "from": [list(end.links) for end in links.ends],
        "rates": [link.gb_per_s for end in links.ends for link in end.links.values()],
        "latencies": [link.latency_us for end in links.ends for link in end.links.values()],
        "table": repr(links),
        "simulated_gpus": os.environ.get("PORTAL_GPUS_SIMULATED") == "1",
    }


def make_step(batch_size, precision):
    """Runs on a rank: returns one step of a small training."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    model = DistributedDataParallel(make_model())
    images, labels = torch.rand(batch_size, 6), torch.zeros(batch_size, dtype=torch.long)

    def step():
        torch.nn.functional.cross_entropy(model(images), labels).backward()

    return step


def case_study():
    """A scaling study over one and two ranks, on one node and on two."""
    from dsportal.study import scaling

    study = scaling(make_step, shapes=("1x1", "1x2", "2x1"), batch_sizes=(64,), steps=20)
    return {
        "shapes": [
            [each.config.n_nodes, each.config.ranks_per_node] for each in study.measurements
        ],
        "steps": [each.n_steps for each in study.measurements],
        "rates": [each.images_per_s for each in study.measurements],
        "table": repr(study),
        "advice": study.advice().text,
        "report": study.report().read_text(),
    }


def case_probe():
    """A few seconds of measuring, and the advice."""
    import time

    from dsportal.probe import probe

    began_s = time.monotonic()
    found = probe(make_step, batch_size=64, seconds=30, images_per_epoch=64_000)
    return {"took_s": time.monotonic() - began_s, "text": found.text, "table": found.table()}


if __name__ == "__main__":
    launch_cases.main(sys.argv[1:], globals())
