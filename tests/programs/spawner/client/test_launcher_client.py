"""Whose fault it is that nothing was done for a user: sudo's, the launcher's, or Slurm's."""

import json

import pytest

from spawner.client.command import PATH
from spawner.client.launcher_client import LauncherClient
from spawner.errors import JobRejectedError, SlurmError, SlurmUnavailableError

# In place of sudo and the launcher: says what the test wants, and fails.
SAYS = ("sh", "-c", 'printf %s "$1"; printf %s "$2" >&2; exit 1')


async def order(said: str, stderr: str = "") -> None:
    client = LauncherClient(launcher_argv=(), sudo_argv=(*SAYS, "sh", said, stderr), path=PATH)
    await client.order("ada", {"verb": "submit"})


async def test_each_request_names_the_cluster_that_it_is_for() -> None:
    client = LauncherClient(
        launcher_argv=(),
        sudo_argv=("sh", "-c", 'printf \'{"ok": true, "said": %s}\' "$(cat)"'),
        path=PATH,
        cluster="volta",
    )

    for answer in (
        await client.order("ada", {"verb": "cancel", "cluster": "kepler"}),
        await client.ask("ada", {"verb": "log_tail"}),
    ):
        assert answer["said"]["cluster"] == "volta"


@pytest.mark.parametrize("said", ["", "Sorry, user dsportal may not run this."])
async def test_a_refusal_of_sudo_is_none_of_slurm(said: str) -> None:
    with pytest.raises(SlurmError, match="could not act as the user ada") as caught:
        await order(said, "sudo: no rule")

    assert not isinstance(caught.value, JobRejectedError | SlurmUnavailableError)
    assert caught.value.stderr == "sudo: no rule"


@pytest.mark.parametrize(
    ("exit_code", "stderr", "kind"),
    [
        (1, "dsportal-launcher: no such account", SlurmError),
        (1, "sbatch: error: Invalid partition name specified", JobRejectedError),
        # The job may have been accepted.
        (None, "sbatch: error: Unable to contact slurm controller", SlurmUnavailableError),
    ],
)
async def test_what_the_launcher_says_is_told_from_what_slurm_says(
    exit_code: int | None, stderr: str, kind: type[SlurmError]
) -> None:
    with pytest.raises(SlurmError) as caught:
        await order(json.dumps({"ok": False, "exit_code": exit_code, "stderr": stderr}))

    assert type(caught.value) is kind
