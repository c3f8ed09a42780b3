"""jupyterlab.commands: no Node is run at the start.

JupyterLab asks it, if the node has one, for the registry that it would build from: 0.35 s of CPU
until the first answer, beside 1.32 s for everything else (medians of 20 starts, 2026-11-26). A
session builds nothing.

Source:
    JupyterLab 4.6.6, `commands._yarn_config`.

Shown by:
    tests/server/test_start.py
"""

from typing import Any

from jupyterlab import commands


def run_no_node() -> None:
    """Have JupyterLab take its default registry."""
    commands._yarn_config = lambda _logger: _NOTHING


_NOTHING: dict[str, Any] = {"yarn config": {}, "npm config": {}}
