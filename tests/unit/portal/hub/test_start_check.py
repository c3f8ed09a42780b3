"""What a hub says at its start that its head node lacks."""

from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

from portal.hub.start_check import configured, find_lacks
from spawner import sudo_rules
from spawner.installed_paths import LAUNCHER
from spawner.spawner import SlurmGPUSpawner

PROGRAMS = ("sudo", "sbatch", "squeue", "sinfo")
ALLOWED = '    (%users) NOPASSWD: {launcher} ""\n'


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Whether it is root's is tried with the real function in its own tests.
    monkeypatch.setattr(sudo_rules, "open_to_others", lambda _: None)
    folder = tmp_path / "libexec"
    folder.mkdir()
    for name in ("launcher", "storage-checks"):
        (folder / f"dsportal-{name}").touch(mode=0o755)
    return folder / "dsportal-launcher"


@pytest.fixture
def programs(tmp_path: Path, launcher: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    says = {"sudo": ALLOWED.format(launcher=launcher), "sinfo": "gpu*\n"}
    for name in PROGRAMS:
        program = folder / name
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{says.get(name, '')}END\n")
        program.chmod(0o755)
    return folder


async def lacks(launcher: Path, programs: Path, **more: Any) -> list[str]:
    kinds = {"uses_sudo": True, "account": "jupyter"} | more
    # /bin: the programs above are scripts.
    return await find_lacks(launcher, path=f"{programs}:/bin", **kinds)


async def test_nothing_is_said_where_all_is_there(launcher: Path, programs: Path) -> None:
    assert await lacks(launcher, programs) == []


async def test_a_missing_launcher_is_named_with_what_installs_it(
    launcher: Path, programs: Path
) -> None:
    launcher = launcher.with_name("dsportal-other")

    (said,) = await lacks(launcher, programs, account="root")

    assert said == (
        f"{launcher} is missing. As root, run: dsportal install-launcher --to {launcher.parent}"
    )


async def test_a_launcher_that_others_may_change_is_named(
    launcher: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sudo_rules, "open_to_others", lambda path: path if path == launcher else None
    )

    (said,) = await lacks(launcher, programs)

    assert f"chown root:root {launcher}; chmod go-w {launcher}" in said


async def test_a_missing_rule_of_sudo_is_named(launcher: Path, programs: Path) -> None:
    (programs / "sudo").write_text("#!/bin/sh\nexit 1\n")

    (said,) = await lacks(launcher, programs)

    assert "sudo does not let jupyter run" in said
    assert said.endswith("dsportal install-launcher --account jupyter; it prints the rule.")


async def test_root_needs_no_rule(launcher: Path, programs: Path) -> None:
    (programs / "sudo").write_text("#!/bin/sh\nexit 1\n")

    assert await lacks(launcher, programs, account="root") == []


async def test_a_host_without_sudo_and_slurm_is_told_both(launcher: Path, tmp_path: Path) -> None:
    said = await find_lacks(launcher, uses_sudo=True, account="jupyter", path=str(tmp_path))

    assert [sentence.partition(".")[0] for sentence in said] == [
        f"There is no sudo in {tmp_path}",
        f"There is no sbatch and no squeue and no sinfo in {tmp_path}",
    ]


async def test_a_cluster_that_does_not_answer_is_named_with_its_reason(
    launcher: Path, programs: Path
) -> None:
    (programs / "sinfo").write_text(
        "#!/bin/sh\necho 'slurm_load_partitions: Unable to contact slurm controller' >&2\nexit 1\n"
    )

    (said,) = await lacks(launcher, programs)

    assert said.startswith("Slurm does not answer: slurm_load_partitions: Unable to contact")
    assert "scontrol ping" in said


def test_a_trait_is_read_as_the_hub_reads_it() -> None:
    config = Config({"BatchSpawnerBase": {"launcher_argv": ["/own"]}})

    assert configured(config, SlurmGPUSpawner, "launcher_argv") == ["/own"]
    assert configured(Config(), SlurmGPUSpawner, "launcher_argv") == [LAUNCHER]
