"""What a run leaves behind if it cannot start; how it runs is in tests/programs."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

import pytest

from portal.launch import LaunchError, run


def test_a_function_that_cannot_be_sent_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    lock = Lock()

    with pytest.raises(LaunchError, match="cannot be sent"):
        run(lambda: lock, gpus=1)

    assert list((tmp_path / "portal-runs").iterdir()) == []
