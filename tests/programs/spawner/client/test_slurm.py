"""Answers that several hubs share, and one that each asks for itself."""

from pathlib import Path

from spawner.client.slurm import Slurm


async def test_the_clock_of_slurm_is_read_anew_and_the_settings_beside_it_are_shared(
    tmp_path: Path,
) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\n")
    scontrol.chmod(0o755)

    def hub() -> Slurm:
        path = f"{tmp_path}:/usr/bin:/bin"
        folder = tmp_path / "slurm"
        return Slurm(launcher_argv=(), sudo_argv=(), timeout_s=20, path=path, answers_dir=folder)

    for one in (hub(), hub()):
        await one.read_config()
        await one.read_clock_ahead_s()

    assert (tmp_path / "asked").read_text().split() == ["asked"] * 3
