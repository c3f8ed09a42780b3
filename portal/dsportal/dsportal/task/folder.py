"""The folder of a run: what ranks are to do, what they printed, what they returned.

    ~/portal-runs/20261120-203845-train-k3v9/
        run.json            the plan: ranks, cores, working folder, search path of modules
        call.pkl            the function and its arguments, or the script
        notebook.ipynb      in their place the notebook that the job runs, as it was when it began
        rank-0.log          everything that rank 0 printed
        rank-0.result.pkl   what the function returned on rank 0
        rank-0.result.txt   the same in a line of text, for those who must not unpickle it
        rank-0.error.json   its traceback, if it failed
        job.json            number of the Slurm job, if the run has one of its own
        job.log             what that job itself printed
        mlflow.json         which run of MLflow rank 0 logs to, if it does
        progress.json       how far the ranks are, if they report it
        saved               left by a rank that saved a checkpoint and ended, to be resumed
        stop                left by who stops a run of a session
        label.txt           what the user calls the run, if anything
        end.json            how the ranks ended, once they have
        checkpoints/        what the function saved to resume from

Only the user can enter it. Functions and results pass between notebook and ranks through these
files alone, never over the network.
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from reprlib import Repr
from typing import Any

from dsportal.errors import LaunchError
from dsportal.task.pickles import pickled, unpickled
from dsportal.task.plan import End, Failure, Plan
from dsportal.task.throughput import Throughput
from dsportal.whole_file import write_whole

# Slurm sets it in each job.
CLUSTER = "SLURM_CLUSTER_NAME"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Reads and writes the files of one run's folder."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.path.name

    @property
    def full_name(self) -> str:
        """Name of the run; of a point of a sweep that of the sweep and its number, as "lr/3"."""
        return f"{self.path.parents[1].name}/{self.name}" if self.is_point else self.name

    @property
    def is_point(self) -> bool:
        """Whether it is a point of a sweep."""
        return self.path.parent.name == "points"

    @property
    def title(self) -> str:
        """Name of its function or script, as `folder_title` made it."""
        # DATE-TIME-TITLE-RANDOM; the title may have hyphens of its own.
        return self.name.split("-", 2)[-1].rpartition("-")[0]

    @property
    def checkpoints(self) -> Path:
        """Folder of what the function saves to resume from, whether it exists or not."""
        return self.path / "checkpoints"

    @property
    def saved_s(self) -> float:
        """When the newest checkpoint was saved, in seconds since 1970; 0 if there is none."""
        # What a rank was writing when it was killed has a hidden name.
        return max((each.stat().st_mtime for each in self.checkpoints.glob("[!.]*")), default=0.0)

    @property
    def saved_mark(self) -> Path:
        """File that a rank leaves when it has saved a checkpoint and ends, to be resumed."""
        return self.path / "saved"

    @property
    def mlflow_link(self) -> Path:
        """File that tells which run of MLflow rank 0 logs to."""
        return self.path / "mlflow.json"

    @property
    def stop_mark(self) -> Path:
        """File that tells that the ranks were stopped on purpose, by the list of runs."""
        return self.path / "stop"

    @property
    def notebook_copy(self) -> Path:
        """The notebook that a job runs, as it was when the run was started."""
        return self.path / "notebook.ipynb"

    def log_path(self, rank: int) -> Path:
        """Return the path of a rank's log, whether it exists or not."""
        return self.path / f"rank-{rank}.log"

    def write_plan(self, plan: Plan) -> None:
        """Write what every rank must know, with the name of this cluster."""
        plan = replace(plan, cluster=os.environ.get(CLUSTER, ""))
        self._write("run.json", json.dumps(asdict(plan), indent=2).encode())

    def read_plan(self) -> Plan:
        """Return what every rank must know."""
        values = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        # JSON has no tuples.
        lists = {name: tuple(values.get(name, ())) for name in ("module_paths", "rank_start")}
        # Another version of the portal may have written more.
        known = {each.name: values[each.name] for each in fields(Plan) if each.name in values}
        return Plan(**{**known, **lists})

    def read_notebook(self) -> str:
        """Return the path of the notebook that the run's job runs; empty if it has ranks."""
        return str((self._read("run.json") or {}).get("executes", ""))

    @property
    def elsewhere(self) -> str:
        """Slurm's name of the run's cluster, if it is not this one, whose ids mean other jobs."""
        name = str((self._read("run.json") or {}).get("cluster", ""))
        return name if name != os.environ.get(CLUSTER, name) else ""

    def write_call(self, call: object) -> None:
        """Write a `call` that cloudpickle takes, those of the notebook by value."""
        self._write("call.pkl", pickled(call, "The function or its arguments cannot be sent"))

    def read_call(self) -> Any:
        """Return the `Call` that `write_call` wrote."""
        return unpickled(self.path / "call.pkl")

    def write_result(self, rank: int, result: object) -> None:
        """Write what a rank returned: any `result` that cloudpickle takes."""
        refusal = f"What rank {rank} returned cannot be sent back"
        self._write(f"rank-{rank}.result.pkl", pickled(result, refusal))
        self._write(f"rank-{rank}.result.txt", _words(result).encode("utf-8", "replace"))

    def read_result(self, rank: int) -> Any:
        """Return what a rank returned."""
        try:
            return unpickled(self.path / f"rank-{rank}.result.pkl")
        except Exception as error:
            raise LaunchError(
                f"The result of rank {rank} cannot be read ({error}). Its output is in "
                f"{self.log_path(rank)}."
            ) from error

    def write_failure(self, failure: Failure) -> None:
        """Write how a rank failed."""
        text = json.dumps(asdict(failure), indent=2)
        self._write(f"rank-{failure.rank}.error.json", text.encode())

    def read_failures(self, n_ranks: int) -> list[Failure]:
        """Return the failures that ranks reported, by time: the later may follow from the first."""
        failures = []
        for rank in range(n_ranks):
            path = self.path / f"rank-{rank}.error.json"
            if path.exists():
                failures.append(Failure(**json.loads(path.read_text(encoding="utf-8"))))
        return sorted(failures, key=lambda failure: failure.time_s)

    def write_job_id(self, job_id: int) -> None:
        """Write the number of the run's own Slurm job."""
        self._write("job.json", json.dumps({"job_id": job_id}).encode())

    def read_job_id(self) -> int | None:
        """Return the number of the run's own Slurm job, or None if it has none."""
        values = self._read("job.json")
        return None if values is None else int(values["job_id"])

    def write_throughput(self, pace: Throughput) -> None:
        """Write the newest progress of the ranks."""
        self._write("progress.json", json.dumps(asdict(pace)).encode())

    def read_throughput(self) -> Throughput | None:
        """Return the newest progress of the ranks, or None if none has reported any."""
        values = self._read("progress.json")
        if values is None:
            return None
        lists = {name: tuple(values[name]) for name in ("behind", "silent_s")}
        return Throughput(**{**values, **lists})

    def write_end(self, end: End) -> None:
        """Write how the ranks ended."""
        self._write("end.json", json.dumps(asdict(end), indent=2).encode())

    def forget_end(self) -> None:
        """Remove how an earlier try ended, since Slurm starts the run again; checkpoints stay."""
        names = ("end.json", "saved", "stop", "rank-*.error.json", "rank-*.result.*")
        for path in (path for name in names for path in self.path.glob(name)):
            path.unlink(missing_ok=True)

    def read_end(self) -> End | None:
        """Return how the ranks ended, or None if that is not known yet."""
        values = self._read("end.json")
        return values and End(**{**values, "slurm_lines": tuple(values["slurm_lines"])})

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def _write(self, name: str, content: bytes) -> None:
        # The notebook and other nodes read these files at any moment.
        write_whole(self.path / name, content, mode=0o600)


def _words(result: object) -> str:
    # Like repr(), but of a long list or text only the start.
    short = Repr()
    short.maxstring = short.maxother = 200
    # A result that cannot be written as text is a result all the same.
    with suppress(Exception):
        return short.repr(result)
    return type(result).__name__
