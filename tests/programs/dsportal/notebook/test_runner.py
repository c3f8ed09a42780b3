"""dsportal.run over a stand-in for srun; the same tests run over Slurm in tests/templates."""

from tests.support.launch_contract import *  # noqa: F403
