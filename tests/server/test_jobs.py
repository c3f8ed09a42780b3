"""Slurm jobs from a notebook server, on the real cluster: submitted, followed and cancelled."""

import os
import pwd
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.eventually import eventually
from tests.support.kernels import run_cell
from tests.support.notebook_server import NotebookServer

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(os.getuid() != 0, reason="only root can become the demo user"),
]

PATH = {"PATH": "/usr/bin:/bin"}
SCRIPT = """#!/bin/bash
#SBATCH -n 1
#SBATCH --mem=64M
#SBATCH --time=5
#SBATCH --job-name=sample
#SBATCH --output=sample-%j.out
echo "hello from $SLURM_JOB_NAME, token ${JUPYTERHUB_API_TOKEN:-none}, ${PATH%%:*}"
exec sleep 120
"""


# What Slurm tells a session of two GPUs.
SESSION = {
    "SLURM_GPUS_PER_NODE": "2",
    "SLURM_CPUS_PER_TASK": "16",
    "SLURM_MEM_PER_NODE": "98304",
    "SLURM_NTASKS": "1",
    "JUPYTER_PATH": "/opt/data-scientist-portal/environments/server/share/jupyter",
}
STEPS = """#!/bin/bash
#SBATCH --ntasks=1 --gpus-per-node=1 --mem-per-cpu=64M --time=5
srun echo "a step with ${SLURM_CPUS_PER_TASK:-no} cores for a task"
"""


@pytest.fixture(scope="module")
def server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    """A notebook server of ada, who has a folder that every node sees."""
    with tempfile.TemporaryDirectory(
        prefix="jobs-", dir="/srv/isilon", ignore_cleanup_errors=True
    ) as name:
        os.chmod(name, 0o755)
        folder = Path(name)
        environ = {"JUPYTER_NO_CONFIG": "1", "PORTAL_COMMANDS": "/the/commands", **SESSION}
        user_id = pwd.getpwnam("ada").pw_uid
        server = NotebookServer(folder, tensorboard_python, environ=environ, user_id=user_id)
        script = server.root / "logs/sample.job"
        script.write_text(SCRIPT)
        yield server
        server.stop()


def ask(server: NotebookServer, method: str, path: str = "", **kwargs: Any) -> requests.Response:
    url = f"{server.host}/user/ada/portal/api/jobs{path}"
    return server.http.request(method, url, timeout=30, **kwargs)


def job_of(server: NotebookServer, job_id: str) -> dict[str, Any]:
    rows = ask(server, "GET").json()["rows"]
    jobs = {row["job"]["id"]: row["job"] for row in rows if row["job"]}
    return dict(jobs.get(job_id, {"state": "absent", "elapsed": ""}))


def state_of(server: NotebookServer, job_id: str) -> str:
    return str(job_of(server, job_id)["state"])


def test_what_a_script_asks_for_is_shown_before_it_goes(server: NotebookServer) -> None:
    before = ask(server, "GET").json()
    shown = ask(server, "POST", "/preview", json={"path": "logs/sample.job"}).json()

    assert ["time", "5"] in shown["options"]
    assert shown["is_accepted"]
    assert "to start at" in shown["forecast"]
    assert ask(server, "GET").json() == before, "nothing was submitted"


def test_a_script_is_submitted_followed_and_cancelled(server: NotebookServer) -> None:
    answer = ask(server, "POST", json={"path": "logs/sample.job"})
    assert answer.status_code == 201, answer.text
    job_id = answer.json()["id"]

    eventually(lambda: state_of(server, job_id) == "RUNNING", timeout_s=30)

    def output() -> dict[str, Any]:
        return dict(ask(server, "GET", f"/{job_id}/output").json())

    said = eventually(lambda: output() if output()["text"] else None, timeout_s=10)
    assert said["text"] == "hello from sample, token none, /the/commands\n"
    assert said["path"] == str(server.root / f"logs/sample-{job_id}.out")
    rest = ask(server, "GET", f"/{job_id}/output?offset={said['next_offset']}").json()
    assert (rest["text"], rest["next_offset"]) == ("", said["next_offset"])

    # Of less than a second nothing is measured.
    eventually(lambda: job_of(server, job_id)["elapsed"] not in {"", "0 s", "1 s"}, timeout_s=30)
    assert ask(server, "DELETE", f"/{job_id}").status_code == 204
    eventually(lambda: state_of(server, job_id) == "CANCELLED", timeout_s=30)

    def used() -> str:
        return str(ask(server, "GET", f"/{job_id}/used").json()["used"])

    eventually(lambda: "of 1 cores on average" in used(), timeout_s=30)


def test_a_job_that_waits_is_held_and_released(server: NotebookServer) -> None:
    script = SCRIPT.replace("#SBATCH -n 1\n", "#SBATCH -n 1\n#SBATCH --begin=now+1hour\n")
    (server.root / "later.job").write_text(script)
    job_id = ask(server, "POST", json={"path": "later.job"}).json()["id"]

    def reason() -> str:
        rows = ask(server, "GET").json()["rows"]
        return str(next(row["job"]["reason"] for row in rows if row["job"]["id"] == job_id))

    assert ask(server, "POST", f"/{job_id}", json={"action": "hold"}).status_code == 204
    assert reason().endswith("Release it.")
    assert ask(server, "POST", f"/{job_id}", json={"action": "release"}).status_code == 204
    assert "Release" not in reason()
    assert ask(server, "DELETE", f"/{job_id}").status_code == 204


def test_a_job_that_runs_is_shortened_and_one_that_is_over_submitted_again(
    server: NotebookServer,
) -> None:
    job_id = ask(server, "POST", json={"path": "logs/sample.job"}).json()["id"]
    eventually(lambda: state_of(server, job_id) == "RUNNING", timeout_s=30)

    shorten = {"action": "shorten", "hours": "0.05"}
    assert ask(server, "POST", f"/{job_id}", json=shorten).status_code == 204
    assert job_of(server, job_id)["limit"] == "3 min"
    longer = ask(server, "POST", f"/{job_id}", json={**shorten, "hours": "1"})
    assert longer.status_code == 400
    assert "Ask for less." in longer.json()["message"]

    # slurm.conf has JobRequeue=0.
    refused = ask(server, "POST", f"/{job_id}", json={"action": "requeue"})
    assert refused.status_code == 409
    assert 'choose "Submit again"' in refused.json()["message"]
    assert ask(server, "DELETE", f"/{job_id}").status_code == 204
    eventually(lambda: job_of(server, job_id).get("has_script"), timeout_s=30)
    assert ask(server, "GET", f"/{job_id}/script").json()["path"] == "logs/sample.job"


def test_a_job_that_may_be_requeued_waits_again(server: NotebookServer) -> None:
    script = server.root / "logs/requeued.job"
    script.write_text(SCRIPT.replace("#SBATCH -n 1", "#SBATCH -n 1 --requeue"))
    job_id = ask(server, "POST", json={"path": "logs/requeued.job"}).json()["id"]
    eventually(lambda: state_of(server, job_id) == "RUNNING", timeout_s=30)

    assert ask(server, "POST", f"/{job_id}", json={"action": "requeue"}).status_code == 204

    eventually(lambda: state_of(server, job_id) == "PENDING", timeout_s=30)
    assert ask(server, "DELETE", f"/{job_id}").status_code == 204


@pytest.fixture
def job_of_grace() -> Iterator[str]:
    argv = ["sbatch", "--parsable", "--hold", "--output=/dev/null", "--chdir=/", "--wrap=true"]
    submitted = subprocess.run(argv, user="grace", env=PATH, check=True, capture_output=True)
    job_id = submitted.stdout.decode().strip()
    yield job_id
    subprocess.run(["scancel", job_id], check=True)


def test_only_an_own_job_that_waits_or_runs_is_cancelled(
    server: NotebookServer, job_of_grace: str
) -> None:
    mine = ask(server, "POST", json={"path": "logs/sample.job"}).json()["id"]
    assert ask(server, "DELETE", f"/{mine}").status_code == 204
    eventually(lambda: state_of(server, mine) == "CANCELLED", timeout_s=30)

    for job_id in (job_of_grace, "99999999", "99999999_1", mine):
        answer = ask(server, "DELETE", f"/{job_id}")
        assert answer.status_code == 404, job_id
        assert ask(server, "POST", f"/{job_id}", json={"action": "requeue"}).status_code == 404
        assert f"You have no job {job_id} that waits or runs" in answer.json()["message"]


async def test_a_job_that_a_cell_submits_has_its_own_shape(server: NotebookServer) -> None:
    (server.root / "steps.job").write_text(STEPS)

    shown = await run_cell(
        server, "python3", "!sbatch --wait --output=steps.out steps.job; cat steps.out"
    )

    assert shown.splitlines()[-1] == "a step with no cores for a task"


async def test_the_template_of_a_job_script_runs_as_it_is(server: NotebookServer) -> None:
    template = Path(__file__).parents[2] / "notebook_templates/slurm/sample.job"
    (server.root / "template.job").write_text(template.read_text())

    shown = await run_cell(
        server, "python3", "!sbatch --wait --output=template.out template.job; cat template.out"
    )

    assert re.fullmatch(r"task 0 of 1 on \S+: GPU \d+", shown.splitlines()[-1])


async def test_a_kernel_leaves_no_core_file_and_the_gpus_to_others(server: NotebookServer) -> None:
    look = "import os, resource; print(resource.getrlimit(resource.RLIMIT_CORE)[0], "
    look += "os.environ['TF_FORCE_GPU_ALLOW_GROWTH'])"

    assert (await run_cell(server, "python3", look)).split() == ["0", "true"]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("logs/absent.job", "cannot be read"),
        ("../../../etc/passwd", "outside your files"),
        ("logs", "cannot be read"),
        ("logs/text.txt", "is no job script"),
        ("", "Name the script"),
    ],
)
def test_what_is_no_script_gets_a_sentence(
    server: NotebookServer, path: str, sentence: str
) -> None:
    (server.root / "logs/text.txt").write_text("text")

    answer = ask(server, "POST", json={"path": path})

    assert answer.status_code == 400
    assert sentence in answer.json()["message"]


def test_what_slurm_refuses_is_said_in_words(server: NotebookServer) -> None:
    script = server.root / "logs/nowhere.job"
    script.write_text("#!/bin/bash\n#SBATCH -p nowhere\nhostname\n")

    shown = ask(server, "POST", "/preview", json={"path": "logs/nowhere.job"}).json()
    refused = ask(server, "POST", json={"path": "logs/nowhere.job"})

    assert not shown["is_accepted"]
    assert shown["forecast"] == (
        "The partition nowhere does not exist. Choose another partition, or ask the administrators."
    )
    assert refused.status_code == 400
    assert refused.json()["message"] == shown["forecast"]
