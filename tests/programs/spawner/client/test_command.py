"""One command of Slurm: its environment, and the time that it has."""

import os
import re
import time

import pytest

from spawner.client.command import keep_time_zone, query
from spawner.errors import SlurmError, SlurmUnavailableError


@pytest.mark.parametrize(
    ("before", "zone"),
    [({}, f":{os.path.realpath('/etc/localtime')}"), ({"TZ": "Asia/Tokyo"}, "Asia/Tokyo")],
)
def test_times_stay_in_the_zone_of_the_start(
    monkeypatch: pytest.MonkeyPatch, before: dict[str, str], zone: str
) -> None:
    monkeypatch.setattr(os, "environ", before)

    keep_time_zone()

    assert os.environ == {"TZ": zone}


async def test_a_command_that_hangs_is_given_up() -> None:
    before = time.monotonic()

    with pytest.raises(SlurmUnavailableError, match="Slurm is not responding"):
        await query(("sleep", "60"), timeout_s=0.2)

    assert time.monotonic() - before < 5


async def test_a_missing_program_is_no_answer() -> None:
    with pytest.raises(SlurmUnavailableError):
        await query(("squeue",), timeout_s=5, path="/nowhere")


async def test_a_variable_of_the_hubs_own_shell_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")

    printed = (await query(("printenv",), timeout_s=5)).stdout

    assert "LC_ALL=C\n" in printed
    assert not re.search("SQUEUE_FORMAT|SLURM_TIME_FORMAT", printed)


@pytest.mark.parametrize(
    ("named", "found"), [("/etc/volta.conf", "/etc/volta.conf"), ("", "/etc/slurm.conf")]
)
async def test_a_command_asks_the_cluster_that_is_named_or_that_of_the_hub(
    monkeypatch: pytest.MonkeyPatch, named: str, found: str
) -> None:
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")

    printed = (await query(("printenv", "SLURM_CONF"), timeout_s=5, slurm_conf=named)).stdout

    assert printed == f"{found}\n"


async def test_a_controller_that_cannot_be_reached_is_no_answer_whatever_the_status_says() -> None:
    said = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2"

    with pytest.raises(SlurmUnavailableError):
        await query(("sh", "-c", said), timeout_s=5)


async def test_a_command_that_fails_is_named_with_the_last_line_that_it_said() -> None:
    with pytest.raises(SlurmError) as failed:
        await query(("sh", "-c", "echo first >&2; echo 'Invalid user' >&2; exit 3"), timeout_s=5)

    assert not isinstance(failed.value, SlurmUnavailableError)
    assert (failed.value.exit_code, failed.value.stderr) == (3, "first\nInvalid user\n")
    assert "Invalid user" in failed.value.message
