"""The plan of a run, for tests to which it does not matter or that change one thing of it."""

from dsportal.task.plan import Plan

PLAN = Plan(
    n_ranks=1,
    cores_per_rank=1,
    simulated_gpus=True,
    working_dir="/",
    module_paths=(),
    n_results=1,
)
