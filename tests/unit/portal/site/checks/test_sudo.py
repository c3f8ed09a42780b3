"""What is said of the list of further clusters, which programs that run as users read."""

from pathlib import Path

import pytest

from portal.site.checks import sudo
from portal.site.checks.finding import Grade
from spawner.client.command import ClusterAddress


@pytest.fixture
def volta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterAddress:
    """A cluster with its line and its slurm.conf, both readable for all."""
    clusters, conf = tmp_path / "clusters.env", tmp_path / "slurm.conf"
    clusters.write_text(f"volta={conf}\n")
    conf.write_text("ClusterName=volta\n")
    for path in (clusters, conf):
        path.chmod(0o644)
    monkeypatch.setattr(sudo, "CLUSTERS", clusters)
    # The folder of the test is the test's.
    monkeypatch.setattr(sudo, "open_to_others", lambda _: None)
    return ClusterAddress(name="volta", slurm_conf=str(conf))


async def test_a_line_that_users_can_read_is_in_order(volta: ClusterAddress) -> None:
    (finding,) = await sudo.check_cluster_line(volta)

    assert finding.grade is Grade.OK


@pytest.mark.parametrize("name", ["clusters.env", "slurm.conf"])
async def test_a_file_that_a_strict_umask_has_closed_is_named(
    volta: ClusterAddress, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).chmod(0o600)

    (finding,) = await sudo.check_cluster_line(volta)

    assert finding.grade is Grade.PROBLEM
    assert f"Users cannot read {tmp_path / name}" in finding.sentence
    assert f"chmod o+r {tmp_path / name}" in finding.cure


async def test_a_line_that_is_missing_is_a_problem(volta: ClusterAddress) -> None:
    (finding,) = await sudo.check_cluster_line(
        ClusterAddress(name="pascal", slurm_conf=volta.slurm_conf)
    )

    assert (finding.grade, "pascal=" in finding.sentence) == (Grade.PROBLEM, True)
