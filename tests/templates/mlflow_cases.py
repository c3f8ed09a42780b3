"""Trainings whose ranks log to MLflow, as in a notebook; run as `mlflow_cases.py CASE...`.

The environment, the outcome lines and the folders are those of tests/support/launch_cases.py.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import launch_cases
from tensorboard_cases import scalars

from dsportal import report, run

N_STEPS = 40
BARRIER_TIMEOUT_S = 120
COMBINATIONS = tuple(
    f"{how} {logs}"
    for how in ("loop", "keras")
    for logs in ("neither", "mlflow", "tensorboard", "mlflow and tensorboard")
)


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


def train_with(folder):
    """Runs on a rank: reports in a loop and by Keras' callback, while rank 0 has a log or two."""
    from contextlib import ExitStack

    import keras
    import mlflow
    import numpy as np
    import tensorflow as tf

    from dsportal.frameworks.keras_progress import ProgressCallback

    images, labels = np.ones((8, 4)), np.ones(8)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(loss="mse")
    for name in COMBINATIONS:
        with ExitStack() as opened:
            if os.environ["HOROVOD_RANK"] == "0" and "mlflow" in name:
                opened.enter_context(mlflow.start_run(run_name=name))
            if os.environ["HOROVOD_RANK"] == "0" and "tensorboard" in name:
                writer = tf.summary.create_file_writer(f"{folder}/{name}")
                opened.enter_context(writer.as_default())
            if "keras" in name:
                callback = ProgressCallback(batch_size=4)
                model.fit(images, labels, batch_size=4, verbose=0, callbacks=[callback])
            for step in range(1, N_STEPS + 1 if "loop" in name else 1):
                report(step=step, steps=N_STEPS, images=8, loss=1 / step)
    return "trained"


def run_out(folder, how):
    """Runs on a rank: what is reported, and MLflow's own flush, meet files without room."""
    import mlflow

    started = mlflow.start_run()
    metrics = Path(folder, started.info.experiment_id, started.info.run_id, "metrics")
    metrics.mkdir(exist_ok=True)
    if how == "full":
        for name in ("loss", "images_per_s"):
            (metrics / name).symlink_to("/dev/full")
    else:
        metrics.chmod(0o500)
    for _ in range(3):
        # Each is the last step, which is logged whenever it comes.
        report(step=N_STEPS, steps=N_STEPS, images=8, loss=0.5)
    mlflow.flush_async_logging()
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


def case_combinations():
    """Two ranks train with each combination of logs, of which rank 0 alone opens some."""
    folder = use_folder()
    logs = Path.cwd() / "logs"
    result = run(train_with, str(logs), gpus=2)
    return {
        "result": result,
        "runs": histories("loss"),
        "events": {path.name: scalars(str(path)) for path in logs.iterdir()},
        "n_writers": {path.name: len(list(path.iterdir())) for path in logs.iterdir()},
        "folders": sorted(path.name for path in folder.iterdir()),
    }


def case_no_room():
    """The folder of MLflow is full, or not writable, when something is reported."""
    found = {}
    for how in ("full", "not writable"):
        done = run(run_out, str(use_folder()), how, gpus=1, wait=False)
        found[how] = {"result": done.wait(), "output": done.output(0)}
    return found


if __name__ == "__main__":
    launch_cases.main(sys.argv[1:], globals())
