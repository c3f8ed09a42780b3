"""The one program that extends a limit, without Slurm; tests/slurm has it with one."""

import json
import os
from pathlib import Path

import pytest

from spawner.programs import extend_time_limit
from spawner.programs.extend_time_limit import read_request

ORDER = {
    "verb": "extend",
    "job_id": 42,
    "user_id": 3_000_000_001,
    "job_name": "dsportal-0123456789abcdef",
    "comment": "data-scientist-portal hub=0123456789ab",
    "minutes": 600,
}
# As Slurm 22.05 prints that uid, and the one above it.
UID, NEXT_UID = -1294967295, -1294967294


def test_the_extender_takes_an_order_with_all_its_marks() -> None:
    assert read_request(json.dumps(ORDER).encode()).minutes == 600


@pytest.mark.parametrize(
    "change",
    [
        {"verb": "cancel"},
        {"job_id": "42"},
        {"job_id": -1},
        {"job_id": True},
        {"user_id": 0},
        {"minutes": 0},
        {"minutes": 10**9},
        {"minutes": 60.5},
        {"job_name": "other-0123456789abcdef"},
        {"job_name": "dsportal-0123456789abcdef\n"},
        {"job_name": "dsportal-0123456789abcdef Partition=x"},
        {"comment": "mine"},
        {"comment": None},
        {"partition": "other"},
    ],
)
def test_the_extender_refuses_an_order_of_another_form(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not a request|has the keys|^bad "):
        read_request(json.dumps(ORDER | change).encode())


@pytest.mark.parametrize(
    ("printed", "is_found"),
    [
        ("42|{UID}|RUNNING|8:00:00|{job_name}|{comment}", True),
        ("42|{NEXT_UID}|RUNNING|8:00:00|{job_name}|{comment}", False),
        ("42|{UID}|PENDING|8:00:00|{job_name}|{comment}", False),
        ("42|{UID}|RUNNING|8:00:00|dsportal-fedcba9876543210|{comment}", False),
        ("42|{UID}|RUNNING|8:00:00|{job_name}|another", False),
    ],
)
def test_the_extender_changes_only_the_job_with_all_marks(
    monkeypatch: pytest.MonkeyPatch, printed: str, is_found: bool
) -> None:
    changed = []

    def run(argv: list[str]) -> dict[str, object]:
        if argv[0] == "scontrol":
            changed.append(argv[1:])
        mark = argv[-1].partition("=")[2].partition("|")[0]
        line = printed.format(UID=UID, NEXT_UID=NEXT_UID, **ORDER)
        forged = f"x\n42|{UID}|RUNNING|8:00:00|{ORDER['job_name']}|{ORDER['comment']}"
        return {"ok": True, "exit_code": 0, "stdout": f"{forged}\n{mark}|{line}\n", "stderr": ""}

    monkeypatch.setattr(extend_time_limit, "_run", run)

    answer = extend_time_limit.extend(read_request(json.dumps(ORDER).encode()))

    assert answer["found"] is is_found
    assert changed == ([["update", "JobId=42", "TimeLimit=600"]] if is_found else [])


def test_the_extender_never_shortens(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(argv: list[str]) -> dict[str, object]:
        mark = argv[-1].partition("=")[2].partition("|")[0]
        line = f"{mark}|42|{UID}|RUNNING|1-00:00:00|{ORDER['job_name']}|{ORDER['comment']}"
        return {"ok": True, "exit_code": 0, "stdout": line, "stderr": ""}

    monkeypatch.setattr(extend_time_limit, "_run", run)

    with pytest.raises(ValueError, match="already"):
        extend_time_limit.extend(read_request(json.dumps(ORDER).encode()))


@pytest.mark.parametrize("cluster", ["/tmp/slurm.conf", "../volta", "kepler\n", "", 7, None])
def test_the_extender_takes_a_cluster_by_its_name_alone(cluster: object) -> None:
    with pytest.raises(ValueError, match=r"not a request|has the keys|^bad "):
        read_request(json.dumps(ORDER | {"cluster": cluster}).encode())


@pytest.mark.parametrize("cluster", ["volta", "kepler"])
def test_the_extender_asks_the_cluster_that_root_has_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cluster: str
) -> None:
    (tmp_path / "clusters.env").write_text("volta=/etc/slurm-volta/slurm.conf\n")
    monkeypatch.setattr(extend_time_limit, "CLUSTERS", tmp_path / "clusters.env")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    asked = []

    def run(argv: list[str]) -> dict[str, object]:
        asked.append(os.environ["SLURM_CONF"])
        return {"ok": True, "exit_code": 0, "stdout": "", "stderr": ""}

    monkeypatch.setattr(extend_time_limit, "_run", run)
    request = read_request(json.dumps(ORDER | {"cluster": cluster}).encode())

    if cluster == "kepler":
        with pytest.raises(ValueError, match="kepler"):
            extend_time_limit.extend(request)
        assert asked == []
    else:
        assert extend_time_limit.extend(request)["found"] is False
        assert asked == ["/etc/slurm-volta/slurm.conf"]
