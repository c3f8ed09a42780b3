"""What users do with dsportal, each as they would write it in a notebook.

Run inside a session as `python launch_cases.py CASE...`. Each case has a folder of its own and ends
with a line that starts with OUTCOME and holds its name and value as JSON. The same cases run over
the stand-in for srun and over the real Slurm.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from dsportal import LaunchError, RankError, attach, checkpoint, report, run, runs, sweep


def place(*words, **named):
    """Runs on a rank: says where it is and what it was given."""
    print(f"hello from {os.environ['HOROVOD_RANK']}", flush=True)
    names = (
        "HOROVOD_RANK HOROVOD_SIZE HOROVOD_LOCAL_RANK HOROVOD_LOCAL_SIZE HOROVOD_CROSS_RANK "
        "HOROVOD_CROSS_SIZE HOROVOD_GLOO_IFACE OMP_NUM_THREADS"
    )
    values = {name: os.environ.get(name) for name in names.split()}
    return {**values, "cwd": os.getcwd(), "words": words, "named": named, "pid": os.getpid()}


def fail_on_rank_1():
    """Runs on a rank: rank 1 fails, rank 0 would wait for ever."""
    if os.environ["HOROVOD_RANK"] == "1":
        raise ValueError("no such label: 11")
    time.sleep(60)


def die_on_rank_1():
    """Runs on a rank: rank 1 is killed, as by the kernel when memory runs out."""
    if os.environ["HOROVOD_RANK"] == "1":
        print("last words", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def exit_on_rank_1():
    """Runs on a rank: rank 1 exits, and rank 0 fails because it has lost its peer."""
    if os.environ["HOROVOD_RANK"] == "1":
        Path("pid").write_text(f"{os.getpid()}\n")
        os._exit(9)
    while not Path("pid").exists() or _runs(int(Path("pid").read_text() or os.getpid())):
        time.sleep(0.01)
    raise ConnectionResetError("Connection reset by peer")


def save_and_die(is_mortal):
    """Runs on a rank: counts epochs in its checkpoint, and is killed while it saves the second."""
    saved = checkpoint.latest("state")
    epoch = int(saved.read_text()) if saved else 0
    with checkpoint.writing("state") as path, path.open("w") as file:
        print(epoch + 1, file=file)
    epoch += 1
    with checkpoint.writing("state") as path, path.open("w") as file:
        if is_mortal:
            os.kill(os.getpid(), signal.SIGKILL)
        print(epoch + 1, file=file)
    return {"saved": saved and str(saved), "epoch": epoch}


def wait_for_ever(folder):
    """Runs on a rank: leaves its process id and trains for an hour."""
    path = Path(folder, f"{os.environ['HOROVOD_RANK']}.pid")
    # Whoever sees the file finds the whole number in it.
    path.with_suffix(".new").write_text(f"{os.getpid()}\n")
    path.with_suffix(".new").replace(path)
    time.sleep(3600)


def ignore_signals(folder):
    """Runs on a rank: as `wait_for_ever`, deaf to requests to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    wait_for_ever(folder)


def case_results():
    """Everything comes back, in the order of the ranks."""
    return {"all": run(place, "a", 2, results="all", depth=[1, 2]), "first": run(place)}


def case_one_rank():
    """One GPU of two."""
    return {"all": run(place, gpus=1, results="all")}


def case_show_all():
    """The lines of every rank."""
    run(place, show="all")
    return {}


def case_logs():
    """What a rank printed that was not shown."""
    run(place)
    newest = max(
        Path.home().joinpath("portal-runs").iterdir(), key=lambda path: path.stat().st_mtime_ns
    )
    return {
        "log": newest.joinpath("rank-1.log").read_text(),
        "folder_mode": oct(newest.stat().st_mode & 0o777),
        "parent_mode": oct(newest.parent.stat().st_mode & 0o777),
        "call_mode": oct(newest.joinpath("call.pkl").stat().st_mode & 0o777),
    }


def case_crash():
    """An exception on rank 1."""
    return failure_of(run, fail_on_rank_1)


def case_killed():
    """Rank 1 killed from outside."""
    return failure_of(run, die_on_rank_1)


def case_exit():
    """Rank 1 exits, and rank 0 loses it."""
    return {**failure_of(run, exit_on_rank_1), "reason": attach().folder.read_end().reason}


def case_killed_while_saving():
    """A rank killed while it saves; the next run goes on, in a folder of its own."""
    failure = failure_of(functools.partial(run, gpus=1), lambda: save_and_die(True))
    first = attach()
    resumed = run(save_and_die, False, gpus=1, resume=first.id[-4:])
    return {
        "rank": failure["rank"],
        "resumed": resumed,
        "first": first.id,
        "kept": first.folder.checkpoints.joinpath("state").read_text(),
        "second": attach().id,
    }


def case_interrupt():
    """The interrupt button."""
    return interrupted(wait_for_ever)


def case_interrupt_deaf():
    """The interrupt button, with ranks that ignore requests to end."""
    return interrupted(ignore_signals)


def case_long_lines():
    """A line of 20,000 characters, text without a line end, and bytes that are no UTF-8."""

    def chat():
        print("x" * 20_000)
        sys.stdout.buffer.write(b"caf\xe9\n")
        sys.stdout.write("no end")

    run(chat)
    return {}


def case_unsendable_result():
    """A result that cannot travel."""
    return _refusal(lambda: run(threading.Lock))


def case_keyboard():
    """A rank that asks somebody."""
    return _refusal(lambda: run(lambda: input("How many epochs? "), gpus=1))


def case_magic():
    """Cells with %%ranks in IPython's own shell."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    # A notebook imports it when its shell is there.
    shell.run_cell("import importlib, dsportal\nimportlib.reload(dsportal)")
    shell.run_cell("import os\nscale = 3\nzero = 0\ndef tenfold(x):\n    return 10 * x")
    body = "print('rank', os.environ['HOROVOD_RANK'], 'has scale', scale)\ntenfold(scale)"
    done = shell.run_cell(f"%%ranks --gpus 2\n{body}")
    failed = shell.run_cell("%%ranks --gpus 1\nlabel = 1\nlabel / zero + 1 / zero")
    refused = shell.run_cell("%%ranks --gpus 1\n!ls")
    return {
        "result": done.result,
        "failure": str(failed.error_in_exec),
        "refusal": str(refused.error_in_exec),
    }


def case_own_job():
    """One rank on each of two nodes."""

    def place_slowly():
        found = place()
        time.sleep(1.5)  # the cell looks at the queue once a second
        return found

    return {"all": run(place_slowly, gpus=2, nodes=2, results="all")}


def case_own_job_crash():
    """An exception on the rank of the second node."""
    found = failure_of(functools.partial(run, nodes=2, gpus=2), fail_on_rank_1)
    return {**found, "state": attach().state}


def case_own_job_interrupt():
    """The interrupt button while ranks run on two nodes."""
    found = interrupted(wait_for_ever, nodes=2, gpus=2)
    return {**found, "state": attach().state}


def case_detached():
    """A run that the notebook does not wait for, and finds again by a part of its name."""

    def detached(folder):
        # Does not end before the notebook has looked at it.
        while not Path(folder, "seen").exists():
            time.sleep(0.05)
        return place()

    started = run(detached, str(Path.cwd()), gpus=1, wait=False)
    first_state = started.state
    Path("seen").touch()
    again = attach(started.id[-4:])
    result = again.wait(show="none")
    return {
        "first_state": first_state,
        "listed": started.id in [each.id for each in runs()],
        "output": again.output(0),
        "result": result,
        "last_state": again.state,
        "table": repr(runs(n=1)),
    }


def walk(n_steps):
    """Runs on a rank: 20 steps a second of 8 images, rank 1 only 10."""
    is_slow = os.environ.get("HOROVOD_RANK") == "1"
    for step in range(1, n_steps + 1):
        time.sleep(0.1 if is_slow else 0.05)
        report(step=step, steps=n_steps, images=8, loss=1 / step)


def case_progress():
    """A training that says how far it is, in the session."""
    run(walk, 40)
    last = attach().progress
    return {"step": last.step, "behind": last.behind, "rate": last.images_per_s}


def case_own_job_progress():
    """The same on two nodes."""
    run(walk, 40, gpus=2, nodes=2)
    last = attach().progress
    return {"step": last.step, "behind": last.behind, "rate": last.images_per_s}


def case_progress_alone():
    """The same function without ranks."""
    walk(1)
    return {}


def case_script():
    """A script with its command line, beside the notebook."""
    Path("train.py").write_text(
        "import os, sys\n"
        "from labels import LABEL\n"
        "print(LABEL, sys.argv[1:], __name__, os.environ['HOROVOD_RANK'])\n"
    )
    Path("labels.py").write_text("LABEL = 'from the module beside'\n")
    sys.path.insert(0, "")
    return {"result": run("train.py", "--epochs", 3)}


def write_notebook(*sources):
    """Write a notebook whose first cell has the parameters."""
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": source}
        | {"outputs": [], "execution_count": None}
        for n, source in enumerate(sources)
    ]
    cells[0]["metadata"] = {"tags": ["parameters"]}
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    Path("train.ipynb").write_text(json.dumps(content))


def case_notebook():
    """A notebook with a parameter, as a job."""
    write_notebook("lr = 0.1", "from beside import WORD\nprint(WORD, 'lr is', lr)", "", "lr * 2")
    Path("beside.py").write_text("WORD = 'beside'\n")
    result = run("train.ipynb", gpus=2, parameters={"lr": 0.5})
    executed = json.loads(Path(result["notebook"]).read_text())
    last = attach()
    return {
        "output": result["output"],
        "parameters": result["parameters"],
        "files": sorted(path.name for path in Path().glob("train-*")),
        "id": last.id,
        "state": last.state,
        "steps": [last.progress.step, last.progress.n_steps],
        "log": last.output(),
        "printed": executed["cells"][2]["outputs"][0]["text"],
        "table": repr(runs(n=1)),
        "original": len(json.loads(Path("train.ipynb").read_text())["cells"]),
    }


def case_notebook_failure():
    """A notebook whose second cell fails, and a third that must not run."""
    write_notebook("a = 1", "b = {}\nb['loss']", "open('ran', 'w')")
    found = failure_of(run, "train.ipynb")
    (result,) = Path().glob("train-*.json")
    values = json.loads(result.read_text())
    return {**found, "state": attach().state, "result": values, "ran": Path("ran").exists()}


def case_notebook_stopped():
    """A notebook that is stopped in its second cell."""
    write_notebook("a = 1", "open('began', 'w')\nimport time\ntime.sleep(3600)")
    started = run("train.ipynb", gpus=1, wait=False)
    while not Path("began").exists():
        time.sleep(0.1)
    started.stop()
    (result,) = Path().glob("train-*.json")
    (executed,) = Path().glob("train-*.ipynb")
    counts = [cell["execution_count"] for cell in json.loads(executed.read_text())["cells"]]
    state = json.loads(result.read_text())["state"]
    return {"states": [started.state, state], "first_count": counts[0]}


def case_notebook_submitted():
    """The same from a terminal, or from JupyterLab's form."""
    write_notebook("lr = 0.1", "lr * 2")
    command = [f"{os.environ['PORTAL_COMMANDS']}/dsportal", "job", "new"]
    words = ["--gpus", "1", "--hours", "0.1", "train.ipynb", "-p", "lr=0.5"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    result = attach().wait(show="none")
    return {"said": done.stdout + done.stderr, "output": result["output"]}


def point(lr, folder, log_dir, deep=False):
    """Runs on a rank: a point of a sweep; one of them fails until it is mended."""
    Path(log_dir, "curve").touch()
    with Path(folder, "ran").open("a") as file:
        print(lr, deep, file=file)
    if lr == 3 and not Path(folder, "mended").exists():
        raise ValueError("diverged")
    return {"loss": lr * 10, "deep": deep, "size": os.environ["HOROVOD_SIZE"]}


def case_sweep():
    """A sweep whose third point fails, and again after that was mended."""
    here = str(Path.cwd())
    grid = {"lr": [1, 2, 3], "folder": [here], "deep": [False]}
    first = sweep(point, grid, name="lr", at_once=2, best="smallest", wait=False)
    first.wait()
    rows, table = first.rows(), str(first.table())
    job_log = first.folder.path.joinpath("job-2.log").read_text()
    Path("mended").touch()
    again = sweep(point, grid, name="lr", best="smallest", wait=False)
    again.wait()
    return {
        "rows": rows,
        "table": table,
        "again": [row["state"] for row in again.rows()],
        "ran": sorted(Path("ran").read_text().splitlines()),
        "curves": sorted(path.parent.name[:8] for path in first.folder.logs.glob("*/curve")),
        "job_log": job_log,
    }


def case_sweep_script():
    """A sweep of a script, which gets its values as options and reports its loss."""
    Path("swept.py").write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        "from dsportal import report\n"
        "rate = float(sys.argv[1].removeprefix('--learning-rate='))\n"
        "Path(os.environ['PORTAL_LOG_DIR'], 'curve').touch()\n"
        "report(step=1, steps=1, loss=abs(rate - 0.3))\n"
    )
    grid = {"learning-rate": [0.1, 0.3]}
    words = {"name": "script", "metric": "loss", "best": "smallest"}
    started = sweep("swept.py", grid, wait=False, **words)
    started.wait()
    summary, again = started.table().summary(), sweep("swept.py", grid, wait=False, **words)
    Path("swept.py").write_text("raise SystemExit('changed')\n")
    return {
        "rows": started.rows(),
        "summary": summary,
        "again": again.open_points(),
        "curves": sorted(path.parent.name for path in started.folder.logs.glob("*/curve")),
        "changed": _refusal(lambda: sweep("swept.py", grid, **words)),
    }


def descend(worst, folder):
    """Runs on a rank: a point of a sweep. The worst begins when the others have come to their end.

    Those have the same loss, so that none of them is worse than their median.
    """
    while worst == 9 and len(list(Path(folder).glob("ended-*"))) < 5:
        time.sleep(0.1)
    for step in range(1, 11):
        report(step=step, steps=10, loss=9 if worst == 9 else 1)
        time.sleep(1 if worst == 9 else 0.2)
    Path(folder, f"ended-{worst}").touch()
    return worst


def case_sweep_stop_worst():
    """A sweep of six points of which one is worse than the others."""
    return _stop_worst(True)


def case_sweep_pruner():
    """The same with one of Optuna's pruners; not in every kernel."""
    from optuna.pruners import MedianPruner

    return _stop_worst(MedianPruner(n_startup_trials=5, n_warmup_steps=10))


def _stop_worst(rule):
    grid = {"worst": [0, 1, 2, 3, 4, 9], "folder": [str(Path.cwd())]}
    started = sweep(descend, grid, at_once=3, best="smallest", stop_worst=rule, wait=False)
    results = started.wait()
    return {
        "rows": started.rows(),
        "results": type(results).__name__,
        "again": started.open_points(),
    }


def case_sweep_lost_kernel():
    """Starts a sweep that waits for a file, and is killed; the same call goes on with it."""
    here = str(Path.cwd())

    def wait_for_file(n, folder):
        with Path(folder, "ran").open("a") as file:
            print(n, file=file)
        while not Path(folder, "go").exists():
            time.sleep(0.05)
        return n

    def start(**named):
        return sweep(wait_for_file, {"n": [0, 1, 2], "folder": [here]}, at_once=1, **named)

    if not (pid := os.fork()):
        start()
    while not Path("ran").exists():
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    unclear = _refusal(start)
    Path("go").touch()
    going_on = start(resume=True, wait=False)
    going_on.wait()
    return {
        "unclear": unclear,
        "ran": Path("ran").read_text().split(),
        "states": [row["state"] for row in going_on.rows()],
        "n_jobs": len(going_on.folder.read_jobs()),
    }


def wait_at(folder, number):
    """Runs on a rank: a point of a sweep that leaves its process id and trains for an hour."""
    path = Path(folder, f"{number}.pid")
    path.with_suffix(".new").write_text(f"{os.getpid()}\n")
    path.with_suffix(".new").replace(path)
    time.sleep(3600)


def case_sweep_interrupt():
    """The interrupt button while two points of three run."""

    def start(function, folder):
        sweep(function, {"folder": [folder], "number": [0, 1, 2]}, at_once=2)

    found = interrupted(wait_at, start=start)
    give_up_at = time.monotonic() + 30
    while any(map(_runs, found["alive"])) and time.monotonic() < give_up_at:
        time.sleep(0.1)
    return {"alive": [pid for pid in found["alive"] if _runs(pid)]}


def case_odd_script():
    """A script in Latin-1, whose name and folder are no UTF-8, fails; one that hides its encoding.

    Source:
        os.fsdecode: such bytes of a name become lone surrogates.
    """
    folder = Path(os.fsdecode(b"caf\xe9"))
    folder.mkdir()
    os.chdir(folder)
    script = Path(os.fsdecode(b"tr\xe9s.py"))
    text = "print('caf\xe9')\nopen(__file__ + '.absent')\n"
    script.write_bytes(f"# -*- coding: latin-1 -*-\n{text}".encode("latin-1"))
    failure = failure_of(functools.partial(run, gpus=1), str(script))
    script.write_bytes(text.encode("latin-1"))
    return {**failure, "refusal": _refusal(lambda: run(str(script), gpus=1))}


def case_open_store():
    """Leaves the address of the run's store, and waits for a file that ends it."""

    def wait(folder):
        Path(folder, "address").write_text(os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"])
        while not Path(folder, "done").exists():
            time.sleep(0.05)

    run(wait, str(Path.cwd()), gpus=1)
    return {}


def case_two_nodes_for_ever():
    """Leaves the address of the run's store, and says how the run ended."""

    def wait(folder):
        if os.environ["HOROVOD_RANK"] == "0":
            Path(folder, "address").write_text(os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"])
        wait_for_ever(folder)

    started = run(wait, str(Path.cwd()), gpus=2, nodes=2, wait=False)
    Path("run").write_text(str(started.folder.path))
    try:
        started.wait()
    except LaunchError as error:
        return {"kind": type(error).__name__, "text": str(error), "state": started.state}
    return {}


def case_never_starts():
    """What is said of runs that Slurm would queue and never start."""
    asked = ({"hours": 100}, {"gpus": 2, "nodes": 2}, {"gpus": 3, "nodes": 3})
    return {"said": [_said_of(**wanted) for wanted in asked]}


def _said_of(**wanted):
    try:
        return repr(run(place, wait=False, **wanted))
    except LaunchError as error:
        return str(error)


def case_lost_kernel():
    """Prints where the ranks are and waits to be killed itself."""
    folder = Path.cwd()
    run(wait_for_ever, str(folder))


def failure_of(start, function, *words):
    started = time.monotonic()
    try:
        start(function, *words)
    except RankError as error:
        return {
            "seconds": time.monotonic() - started,
            "rank": error.rank,
            "node": error.node,
            "log": Path(error.log_path).read_text(),
            "text": str(error),
            "cell": "\n".join(error._render_traceback_()),
        }
    return {}


def _refusal(call):
    try:
        call()
    except LaunchError as error:
        return {"kind": type(error).__name__, "text": str(error)}
    return {}


def interrupted(function, *, start=run, **shape):
    """Return how long a run took to end after the interrupt button, and which ranks it left."""
    # Of a first try, whose cells ran in the same folder.
    for path in Path.cwd().glob("*.pid"):
        path.unlink()
    pressed_at = []

    def press():
        while len(list(Path.cwd().glob("*.pid"))) < 2:
            time.sleep(0.02)
        pressed_at.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    try:
        start(function, str(Path.cwd()), **shape)
    except KeyboardInterrupt:
        seconds = time.monotonic() - pressed_at[0]
        pids = [int(path.read_text()) for path in Path.cwd().glob("*.pid")]
        return {"seconds": seconds, "alive": [pid for pid in pids if _runs(pid)]}
    return {}


def _runs(pid):
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def main(names, cases):
    """Run cases one after the other, as cells of one notebook.

    Args:
        cases: Where `case_NAME` is found.
    """
    top = Path.cwd()
    for name in names:
        folder = top / name
        folder.mkdir(exist_ok=True)
        os.chdir(folder)
        value = cases[f"case_{name}"]()
        print("OUTCOME", json.dumps({"case": name, "value": value}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:], globals())
