"""The end of a session as JupyterHub asks for it, with a job that may not end."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.spawner import SlurmGPUSpawner

NAMES = SimpleNamespace(name="ada")


class Rows:
    """The hub's tokens."""

    def __init__(self) -> None:
        self.revoked: list[int] = []

    def revoke_token(self, token_id: int) -> None:
        self.revoked.append(token_id)


def spawner(error: SlurmError | None = None, *, api_token: str = "known") -> Any:
    async def stop() -> None:
        if error is not None:
            raise error

    return SimpleNamespace(
        _job=SimpleNamespace(stop=stop, session=SimpleNamespace(job_id=42, token_id=7)),
        _rows=Rows(),
        api_token=api_token,
        user=NAMES,
        log=logging.getLogger("test"),
        ending=None,
    )


@pytest.mark.parametrize("error", [SlurmError("uid"), SlurmUnavailableError("no answer")])
async def test_a_job_that_could_not_be_cancelled_is_told_on_the_page_and_in_the_log(
    error: SlurmError, caplog: pytest.LogCaptureFixture
) -> None:
    one = spawner(error)

    await SlurmGPUSpawner.stop(one)

    assert "job 42 could not be cancelled" in str(one.ending.error)
    assert "could not be cancelled" in caplog.text


async def test_a_job_that_is_cancelled_leaves_nothing_to_tell() -> None:
    one = spawner()

    await SlurmGPUSpawner.stop(one)

    assert one.ending is None


async def test_the_token_of_a_session_that_ends_after_a_restart_of_the_hub_is_revoked() -> None:
    # JupyterHub itself revokes the token that it knows.
    before, after = spawner(), spawner(api_token="")

    await SlurmGPUSpawner.stop(before)
    await SlurmGPUSpawner.stop(after)

    assert (before._rows.revoked, after._rows.revoked) == ([], [7])
