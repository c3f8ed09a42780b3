"""Which TensorBoard is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from portal.server.viewers.tensorboard.pages import TensorBoards


@pytest.mark.parametrize("is_there", [True, False])
def test_the_one_with_the_profiler_is_taken_where_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    xprof = tmp_path / "bin/python"
    xprof.parent.mkdir()
    if is_there:
        xprof.touch(mode=0o755)
    told = {"environments": {"tensorboard": "/plain", "xprof": str(tmp_path)}}
    monkeypatch.setenv("PORTAL_SETTINGS", json.dumps(told))

    assert TensorBoards().python == (str(xprof) if is_there else "/plain/bin/python")
