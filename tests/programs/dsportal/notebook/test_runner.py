"""dsportal.run over a stand-in for srun; the same tests run over Slurm in tests/templates."""

from __future__ import annotations

from tests.support.launch_contract import *  # noqa: F403
