"""Trainings whose ranks log to MLflow, as in a notebook; run as `mlflow_cases.py CASE...`.

The environment, the outcome lines and the folders are those of tests/support/launch_cases.py.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import launch_cases

from dsportal import report, run

N_STEPS = 40
BARRIER_TIMEOUT_S = 120


def use_folder(name="mlruns"):
    """What a session's notebook server sets, with a folder that nobody has logged to yet."""
    folder = Path.cwd() / name
    os.environ.update(MLFLOW_TRACKING_URI=folder.as_uri(), MLFLOW_ALLOW_FILE_STORE="true")
    return folder


def meet(folder):
    """Have both ranks come here before either goes on."""
    import time

    Path(folder, f"here-{os.environ['HOROVOD_RANK']}").touch()
    until_s = time.monotonic() + BARRIER_TIMEOUT_S
    while len(list(Path(folder).glob("here-*"))) < 2 and time.monotonic() < until_s:
        os.listdir(folder)


def log_on_each_rank(folder):
    """Runs on a rank: logs to a run of its own, through MLflow and through report()."""
    import mlflow

    meet(folder)
    rank = int(os.environ["HOROVOD_RANK"])
    with mlflow.start_run(run_name=f"rank-{rank}"):
        for step in range(1, N_STEPS + 1):
            mlflow.log_metric("own", step * (rank + 1), step=step)
            report(step=step, steps=N_STEPS, images=8, loss=1 / step)
    return [mlflow.get_tracking_uri(), os.environ["SLURMD_NODENAME"]]


def log_to_one_run(folder, run_id):
    """Runs on a rank: both ranks write the same metric of the same run."""
    import mlflow

    meet(folder)
    rank = int(os.environ["HOROVOD_RANK"])
    for step in range(N_STEPS):
        mlflow.MlflowClient().log_metric(run_id, "shared", step + 1000 * rank, step=step)


def lose_the_folder(folder):
    """Runs on a rank: the folder of MLflow is a file by the time that something is reported."""
    import mlflow

    mlflow.start_run()
    shutil.rmtree(folder)
    Path(folder).touch()
    for step in range(1, N_STEPS + 1):
        report(step=step, steps=N_STEPS, images=8, loss=1 / step)
    return "trained"


def histories(name):
    import mlflow

    client = mlflow.MlflowClient()
    found = client.search_runs([one.experiment_id for one in client.search_experiments()])
    return [
        {
            "name": one.info.run_name,
            "id": one.info.run_id,
            "status": one.info.status,
            "tags": {key: value for key, value in one.data.tags.items() if "portal." in key},
            "values": [point.value for point in client.get_metric_history(one.info.run_id, name)],
            "loss": "loss" in one.data.metrics,
        }
        for one in found
    ]


def case_own_runs():
    """Each of two ranks on two nodes has a run of its own, in a folder that was not there."""
    folder = use_folder()
    done = run(log_on_each_rank, str(Path.cwd()), gpus=2, nodes=2, results="all", wait=False)
    results = done.wait()
    link = json.loads((done.folder.path / "mlflow.json").read_text())
    return {
        "results": results,
        "folder": folder.as_uri(),
        "name": done.folder.name,
        "link": link,
        "runs": histories("own"),
        "beside": sorted(path.name for path in folder.parent.glob(".mlruns*")),
    }


def case_one_run():
    """Both ranks write to one run."""
    import mlflow

    use_folder()
    with mlflow.start_run() as started:
        run_id = started.info.run_id
    run(log_to_one_run, str(Path.cwd()), run_id, gpus=2, nodes=2)
    return {"runs": histories("shared")}


def case_folder_lost():
    """A training ends well although its tracking does not."""
    return {"result": run(lose_the_folder, str(use_folder()), gpus=1)}


if __name__ == "__main__":
    launch_cases.main(sys.argv[1:], globals())
