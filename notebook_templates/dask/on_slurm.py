# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [bokeh, cryptography, dask, dask-jobqueue, matplotlib, numpy, pandas, pyarrow]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Dask on Slurm: a table and your functions, on workers that are jobs of yours
#
# Starts Dask workers as Slurm jobs, makes a table of many files with them and summarises it, then
# spreads a function of its own over one worker and over two. Workers, scheduler and this notebook
# know each other by certificates, and the dashboard opens behind your login.
#
# | | |
# |---|---|
# | **Data** | 1.2 million measurements in 12 Parquet files of 1 MB, made here; then your own |
# | **Time** | 45 seconds on 2 cores, and the jobs' time in the queue |
# | **Devices** | cores of the cluster: each worker is a job of its own with one core |
#
# No GPU is used, since pandas and NumPy compute on cores: start a session without one, and a small
# one, as the work is done elsewhere.

# %%
import os
import time
from pathlib import Path

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from dask.distributed import Client, Security, get_task_stream, wait
from dask_jobqueue import SLURMCluster

# %% [markdown]
# ## Workers as jobs
#
# Dask's scheduler runs here, in the notebook. Whoever reaches it can send it functions, which run
# as you, and other users reach ports of this node. So:
#
# * `Security.temporary()` makes certificates that live as long as this notebook. The workers read
#   theirs from a folder in your home that nobody else may enter. Who has none is refused.
# * The dashboard listens on this node alone. Your session shows it behind your login.
# * What a worker moves from memory to disk is in a folder of its own, and goes with it.
#
# `job_extra_directives=["--gpus=1"]` gives each worker a GPU, `queue` and `account` name partition
# and account, `interface="ib0"` another network than that of the node's name.

# %%
private = Path.home() / ".dask-on-slurm"
private.mkdir(mode=0o700, exist_ok=True)

cluster = SLURMCluster(
    cores=1,
    memory="2 GB",
    walltime="00:20:00",
    security=Security.temporary(),
    shared_temp_directory=str(private),
    log_directory=str(private),
    scheduler_options={"dashboard_address": "127.0.0.1:0"},
    worker_extra_args=["--no-dashboard"],
    job_script_prologue=[
        "umask 077",
        "export TMPDIR=$(mktemp -d)",
        "trap 'rm -rf \"$TMPDIR\"' EXIT",
    ],
)
client = Client(cluster)
print("Scheduler:", cluster.scheduler_address)
print("Dashboard:", client.dashboard_link)

# %%
MINUTES = 10  # to wait in the queue; squeue --me in a terminal says why a job waits


def scale_to(n_jobs):
    began = time.perf_counter()
    cluster.scale(jobs=n_jobs)
    client.wait_for_workers(n_jobs, timeout=60 * MINUTES)
    jobs = ", ".join(sorted(worker.job_id for worker in cluster.workers.values()))
    print(f"Workers after {time.perf_counter() - began:.0f} s: {n_jobs}, as Slurm jobs {jobs}")


scale_to(1)

# %% [markdown]
# ## A table of many files
#
# A Dask table is many pandas tables, here one for each file. Operations only note what is to be
# done, and `compute` or `to_parquet` let the workers do it, one file after the other. So the table
# may be larger than the memory of all of them. For your own:
# `table = dd.read_parquet("folder")`, on storage that every node sees.

# %%
N_FILES, N_ROWS, N_STATIONS = 12, 100_000, 40
FOLDER = Path("measurements").absolute()


def measure(month):
    chance = np.random.default_rng(month)
    station = chance.integers(N_STATIONS, size=N_ROWS)
    mean = 10 + station / 4 - 12 * np.cos(2 * np.pi * (month + 0.5) / 12)
    return pd.DataFrame(
        {
            "month": np.full(N_ROWS, month, dtype="int8"),
            "station": station.astype("int16"),
            "celsius": chance.normal(mean, 6).astype("float32"),
        }
    )


dd.from_map(measure, range(N_FILES)).to_parquet(FOLDER)
table = dd.read_parquet(FOLDER)
print(f"{len(table):,} rows in {table.npartitions} files")

# %%
by_month = table.groupby("month").celsius.agg(["mean", "min", "max"]).compute()
by_month.sort_index().round(1)

# %% [markdown]
# ## A function, many times
#
# `client.map` calls a function of yours for each value, on any worker that is free. This one asks
# how sure the mean of a station is: it draws the measurements again and again, with replacement
# (*bootstrap*). `scatter` sends the data to each worker once, and not with each call.

# %%
one_station = table[table.station == 7].celsius.compute().to_numpy()
print(f"{len(one_station):,} measurements of one station, mean {one_station.mean():.3f}")


def resample(seed, values, n_times=120):
    chance = np.random.default_rng(seed)
    return [chance.choice(values, len(values)).mean() for _ in range(n_times)]


def spread_over_workers(n_calls=24):
    """Return the means, and for each call the worker and when it began and ended."""
    values = client.scatter(one_station, broadcast=True)
    wait(client.map(resample, range(1000, 1000 + n_calls), values=values, n_times=1, pure=False))
    with get_task_stream(client) as stream:
        calls = client.map(resample, range(n_calls), values=values, pure=False)
        means = np.concatenate(client.gather(calls))
    parts = [(task["worker"], part) for task in stream.data for part in task["startstops"]]
    spans = [(worker, p["start"], p["stop"]) for worker, p in parts if p["action"] == "compute"]
    return means, spans


def seconds_of(spans):
    return max(end for *_, end in spans) - min(start for _, start, _ in spans)


means, spans_of_one = spread_over_workers()
low, high = np.quantile(means, [0.025, 0.975])
print(f"95 % of {len(means):,} means lie between {low:.3f} and {high:.3f}")

# %% [markdown]
# ## The same on two workers
#
# `cluster.adapt(minimum_jobs=0, maximum_jobs=8)` instead of `scale` starts jobs when there is work
# and ends them when there is none.

# %%
scale_to(2)
again, spans_of_two = spread_over_workers()
one_s, two_s = seconds_of(spans_of_one), seconds_of(spans_of_two)
print(f"The means are the same: {np.array_equal(again, means)}")
print(f"1 worker: {one_s:.1f} s, 2 workers: {two_s:.1f} s, {one_s / two_s:.2f} times as fast.")
if os.environ.get("PORTAL_GPUS_SIMULATED") == "1":
    print("The nodes of this cluster share the cores of one machine with all else that runs there.")

# %% [markdown]
# Which worker computed when, as the dashboard shows it while it happens:

# %% tags=["gallery"]
_, axes = plt.subplots(1, 2, figsize=(9, 2), layout="constrained", sharex=True, sharey=True)
for axis, spans in zip(axes, (spans_of_one, spans_of_two), strict=True):
    began = min(start for _, start, _ in spans)
    workers = sorted({worker for worker, *_ in spans})
    for worker, start, end in spans:
        row = (workers.index(worker) + 0.6, 0.8)
        axis.broken_barh(
            [(start - began, end - start)], row, facecolor="#0b6bcb", edgecolor="white"
        )
    axis.set(xlabel="seconds", yticks=[1, 2], yticklabels=["worker 1", "worker 2"])
    axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## The end
#
# This cancels the jobs. Without it they end with their time limit, or one minute after the
# notebook. The workers' logs stay in `.dask-on-slurm` in your home. Keys that a killed kernel
# leaves there open nothing any more: each cluster makes its own.

# %%
client.close()
cluster.close()

# %% [markdown]
# **Next:** [a model for a table](../../templates/data/tabular.ipynb), if it fits into the memory of
# one session: that is faster than any way between workers.
