"""What a real Slurm printed, read by the parsers; see golden/slurm-22.05/README.md."""

from pathlib import Path

import pytest

from dsportal.diagnosis import explain_end, explain_rejection, explain_waiting
from dsportal.slurm.states import parse_cancelled_by, parse_state
from spawner.settings.resources import ResourceSettings
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD, UNTYPED, GpuCount

GOLDEN = Path(__file__).parent / "golden" / "slurm-22.05"


def lines(name: str) -> list[str]:
    return (GOLDEN / name).read_text(encoding="utf-8").splitlines()


def commands(name: str) -> dict[str, str]:
    """Return what each "$ command" of a capture printed."""
    printed: dict[str, str] = {}
    for line in lines(name):
        if line.startswith("$ "):
            command = line[2:]
            printed[command] = ""
        else:
            printed[command] += line + "\n"
    return printed


@pytest.mark.parametrize("reason", lines("waiting.txt"))
def test_reasons_that_slurm_printed_are_understood(reason: str) -> None:
    assert "Slurm calls" not in explain_waiting(reason).sentence


def read_catalog(name: str) -> Catalog:
    return Catalog.parse((GOLDEN / name).read_text(encoding="utf-8"))


def test_the_partitions_of_a_real_cluster_are_read() -> None:
    partitions = read_catalog("sinfo-idle.txt").partitions
    facts = {
        name: (part.is_default, part.is_up, part.max_walltime_s, len(part.nodes))
        for name, part in partitions.items()
    }
    assert facts == {
        "gpu": (True, True, 86400, 7),
        "long": (False, True, None, 2),
        "closed": (False, False, 1800, 1),
        "hidden": (False, True, None, 1),
    }
    assert {node.n_cores for node in partitions["long"].nodes} == {16}


def test_the_gpus_of_an_idle_cluster_are_free_except_on_the_absent_node() -> None:
    catalog = read_catalog("sinfo-idle.txt")
    assert catalog.count_gpus() == GpuCount(total=23, free=19, down=4)
    assert catalog.gpu_types() == ("1g.10gb", "3g.40gb", "a100", SHARD, "v100")
    assert catalog.largest_node_gpus() == 5
    assert catalog.largest_node_gpus(gpu_type="1g.10gb") == 4
    assert catalog.largest_startable_gpus(ResourceSettings().per_gpu) == 5


def test_the_gpus_in_use_of_every_kind_are_counted() -> None:
    nodes = {node.name: node for node in read_catalog("sinfo-busy.txt").nodes()}
    assert nodes["typed"].gpus == {"v100": GpuCount(total=4, used=1, free=3)}
    assert nodes["untyped"].gpus == {UNTYPED: GpuCount(total=4, used=3, down=1)}
    assert nodes["mixedtypes"].gpus["a100"] == GpuCount(total=2, used=1, free=1)
    assert nodes["mixedtypes"].gpus["v100"] == GpuCount(total=2, free=2)
    assert nodes["mig"].gpus["1g.10gb"] == GpuCount(total=4, used=2, free=2)
    assert nodes["mig"].gpus["3g.40gb"] == GpuCount(total=1, used=1)
    assert nodes["shards"].gpus["v100"] == GpuCount(total=2, used=1, free=1)
    assert nodes["shards"].gpus[SHARD] == GpuCount(total=8, used=4, free=4)
    assert nodes["cpuonly"].gpus == {}
    assert nodes["absent"].gpus == {"v100": GpuCount(total=4, down=4)}


def test_planned_reserved_and_maintained_nodes_have_no_free_gpus() -> None:
    nodes = {node.name: node for node in read_catalog("sinfo-states.txt").nodes()}
    assert (nodes["cpuonly"].state, nodes["cpuonly"].idle_are) == ("idle+planned", "planned")
    assert (nodes["mig"].state, nodes["mig"].idle_are) == ("mixed+maintenance+reserved", "down")
    assert nodes["typed"].idle_are == "free"
    assert nodes["absent"].idle_are == "down"


EXPECTED_REFUSALS = {
    "--partition=nope": "does not exist",
    "--account=nope": "no account",
    "--qos=nope": "does not exist, or you may not use it",
    "--time=soon": "time limit of the session",
    "--nodes=1 --ntasks=1 --gpus-per-node=5": "No node",
    "--gres=gpu:a100:1": "No node",
    "--gres=gpu:v100:9": "No node",
    "--gres=xpu:1": "no GPUs of the type",
    "--nodes=1 --cpus-per-task=80": "as many CPU cores",
    "--nodes=1 --mem=999G": "as much memory",
    "--reservation=nope": "reservation does not exist",
    "--constraint=nope": "feature",
    "--nodelist=node77": "node that the site asks for",
    "--licenses=nope": "license",
    "# slurmctld down": "not responding",
    "--mem=lots": '"Invalid --mem specification"',
    "--qos=diag7 -N1 -n1 --gpus-per-node=2 -t 5": "your limit on GPUs",
    "--qos=diag7 -N1 -n1 --gpus-per-node=1 -t 60": "more time than one session",
    "--qos=diag6": "your limit on running and waiting jobs",
    "--qos=diagb": "your limit on running and waiting jobs",
}


def test_refusals_that_sbatch_printed_are_put_into_words() -> None:
    refusals = commands("rejections.txt")
    assert {command.removeprefix("sbatch --wrap=true ") for command in refusals} == set(
        EXPECTED_REFUSALS
    )
    for command, stderr in refusals.items():
        words = EXPECTED_REFUSALS[command.removeprefix("sbatch --wrap=true ")]
        assert words in explain_rejection(stderr).sentence


EXPECTED_ENDS = {
    "exit 1": "exit code 1",
    "program not found": "not found",
    "program not executable": "cannot be executed",
    "killed by KILL": "was killed",
    "child killed by KILL": "was killed",
    "segmentation fault": "SIGSEGV",
    "log folder missing": "could not open the session's log",
    "working folder missing": "The session ended",
    "too much memory": "more memory",
    "cancelled by its user": "uid 20001",
    "cancelled by root": "An administrator",
    "cancelled while waiting": "uid 20001",
    "time limit": "time limit",
    "completed": "The session ended",
    "node down": "no longer served the session",
}


def test_ends_that_slurm_printed_are_put_into_words() -> None:
    ends = [line.split("|") for line in lines("ends.txt")]
    assert {name for name, *_ in ends} == set(EXPECTED_ENDS)
    for name, sacct_state, _, reason, scontrol_code in ends:
        exit_code, signal = map(int, scontrol_code.split(":"))
        diagnosis = explain_end(
            parse_state(sacct_state),
            exit_code=exit_code,
            signal=signal,
            reason=reason,
            cancelled_by_uid=parse_cancelled_by(sacct_state),
        )
        assert EXPECTED_ENDS[name] in diagnosis.sentence, name
