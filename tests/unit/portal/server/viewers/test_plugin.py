"""Which TensorBoard is started."""

from pathlib import Path

import pytest

from portal.server.viewers.plugin import tensorboard_python
from tests.support.told import tables


@pytest.mark.parametrize("is_there", [True, False])
def test_the_one_with_the_profiler_is_taken_where_it_is_there(
    tmp_path: Path, is_there: bool
) -> None:
    xprof = tmp_path / "bin/python"
    xprof.parent.mkdir()
    if is_there:
        xprof.touch(mode=0o755)
    settings = tables(environments={"tensorboard": "/plain", "xprof": str(tmp_path)})

    assert tensorboard_python(settings) == (str(xprof) if is_there else "/plain/bin/python")
