"""A run on two nodes: closed to other users, and ended with the reason when a node is lost."""

import subprocess
from pathlib import Path

import pytest

from tests.support import parts
from tests.support.eventually import eventually
from tests.support.outcomes import read_outcomes
from tests.support.put_back import put_back
from tests.templates.conftest import SlurmSession

pytestmark = [pytest.mark.cluster, pytest.mark.release]


def node_states() -> set[str]:
    said = subprocess.run(
        ["sinfo", "--noheader", "--Node", "--format=%T"], capture_output=True, text=True, check=True
    )
    return set(said.stdout.split())


def test_a_run_on_two_nodes_is_closed_to_others_and_ends_when_a_node_loses_power(
    session: SlurmSession,
) -> None:
    command = session.command_line("launch_cases.py", "two_nodes_for_ever")
    job_id = session.submit(command, node="node01")
    folder = session.working_dir / "two_nodes_for_ever"
    eventually(lambda: len(list(folder.glob("*.pid"))) == 2, timeout_s=180)
    host, _, secret = folder.joinpath("address").read_text().partition("/")
    run_folder = Path(folder.joinpath("run").read_text())

    ada = SlurmSession("ada")
    try:
        program = ada.submit("/usr/bin/python3 - <<'END'", intruder(host, run_folder), "END")
        said = ada.output_of(program).partition("\n")[2].strip()
    finally:
        ada.remove()
    with parts.quick_loss_of_nodes():
        parts.kill("node02")
        try:
            printed = session.output_of(job_id)
        finally:
            parts.start("node02")
            eventually(lambda: node_states() <= {"idle", "mixed"}, timeout_s=180)
    found = read_outcomes(printed.partition("\n")[2])["two_nodes_for_ever"].value

    assert said == "403 403 PermissionError"
    assert secret not in printed
    # Slurm tells the job on the other node to end, and it writes that down.
    assert found["state"] == "stopped"
    assert "failed, or no longer served the run" in found["text"]


def test_a_run_that_slurm_would_never_start_is_refused_at_once(session: SlurmSession) -> None:
    change = ("sacctmgr", "-i", "modify", "qos", "normal", "set")
    with put_back((*change, "MaxTRESPerJob=node=-1")):
        subprocess.run([*change, "MaxTRESPerJob=node=1"], check=True, capture_output=True)
        job_id = session.submit(session.command_line("launch_cases.py", "never_starts"))
        printed = session.output_of(job_id)
    too_long, of_qos, of_partition = read_outcomes(printed.partition("\n")[2])[
        "never_starts"
    ].value["said"]
    queued = subprocess.run(
        ["squeue", "--noheader", f"--user={session.user}"], capture_output=True, text=True
    )

    assert "You asked for 100 hours, but the session's partition jupyter gives" in too_long
    assert "Choose hours=24 or fewer" in too_long
    assert "You asked for 2 GPUs on 2 nodes" in of_qos
    assert "more nodes than one run may have" in of_qos
    assert "QOSMaxNodePerJobLimit" in of_qos
    assert "You asked for 3 nodes, but the session's partition jupyter has 2 nodes." in of_partition
    assert queued.stdout == ""


def intruder(host: str, run_folder: Path) -> str:
    """Return what another user tries: to read and to join without the secret, and the folder."""
    return (
        "import http.client, os\n"
        "def ask(method, path, body=None):\n"
        f"    client = http.client.HTTPConnection({host!r}, timeout=5)\n"
        "    client.request(method, path, body)\n"
        "    return client.getresponse().status\n"
        "said = [ask('GET', '/guess/global_/0'), ask('PUT', '/guess/global_/1', b'me')]\n"
        "try:\n"
        f"    os.listdir({str(run_folder)!r})\n"
        "except OSError as error:\n"
        "    said.append(type(error).__name__)\n"
        "print(*said)\n"
    )
