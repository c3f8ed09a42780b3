"""The contract of `Slurm`, kept by the real one of the one-machine portal."""

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.support.slurm_contract")

from spawner.client.slurm import Slurm  # noqa: E402
from spawner.errors import SlurmError  # noqa: E402
from spawner.options.traits import SiteTraits  # noqa: E402
from tests.slurm.conftest import jobs_of  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.slurm_contract import NAME_PREFIX, SlurmContract  # noqa: E402

pytestmark = pytest.mark.cluster

SLURM_CONF = Path("/etc/slurm/slurm.conf")
USER = "grace"


@pytest.fixture(scope="module", autouse=True)
def nothing_left() -> Iterator[None]:
    """Cancel the jobs that are not over: other tests count this user's."""
    yield

    def left() -> list[int]:
        return [job.job_id for job in jobs_of(USER) if job.name.startswith(NAME_PREFIX)]

    for job_id in left():
        subprocess.run(["scancel", str(job_id)], check=True, timeout=30)
    eventually(lambda: not left(), timeout_s=60)


@pytest.fixture
def slurm() -> Slurm:
    traits = SiteTraits()
    return Slurm(launcher_argv=traits.launcher_argv, sudo_argv=traits.sudo_argv)


@pytest.fixture
def user() -> str:
    return USER


@pytest.fixture
def without_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Ask a controller that is not there; the real one goes on for everybody else."""

    def look_elsewhere() -> None:
        text = SLURM_CONF.read_text()
        path = tmp_path / "slurm.conf"
        others = re.sub(r"(?m)^(SlurmctldPort|MessageTimeout)=.*$", "", text)
        # Slurm's programs try for MessageTimeout seconds.
        path.write_text(f"{others}\nSlurmctldPort=1\nMessageTimeout=2\n")
        monkeypatch.setenv("SLURM_CONF", str(path))

    return look_elsewhere


class TestRealSlurm(SlurmContract):
    """Everything that the unit tests believe of Slurm is true."""

    async def test_a_job_that_is_no_longer_its_users_is_not_called_cancelled(
        self, slurm: Slurm, user: str
    ) -> None:
        key = await self.submitted(slurm, user, "exec sleep 60")

        # As after a change of the account's uid.
        with pytest.raises(SlurmError, match="is not over"):
            await slurm.cancel(replace(key, user="ada"))

        assert await slurm.cancel(key)
