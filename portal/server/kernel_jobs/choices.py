"""What the dialog of a kernel's button offers: the cluster within the user's limits. Pure."""

from typing import Any

from dsportal.amounts import SECONDS_PER_HOUR, format_duration
from portal.server.kernel_jobs.request import NO_BUDGETS, GpuRequest, check_request
from portal.settings.kernel_jobs import KernelJobSettings
from spawner.options.budget_messages import ChargedBudgets
from spawner.options.limits import Limits
from spawner.slurm.catalog import Catalog
from spawner.slurm.resources import ResourcesPerGpu

_HOURS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 24.0, 48.0, 96.0, 168.0)


def list_choices(
    catalog: Catalog,
    limits: Limits,
    shape: ResourcesPerGpu,
    partition: str,
    settings: KernelJobSettings,
    charged: ChargedBudgets = NO_BUDGETS,
) -> dict[str, Any]:
    """Return the most `gpus` of each type, "" for any, the `hours`, and what `budget` is left.

    Args:
        partition: Empty for Slurm's default one.
        settings: The site's, with the hours of the user.
    """
    one = GpuRequest(n_gpus=1, walltime_s=settings.walltime_s)
    check_request(one, catalog, limits, shape, partition)
    where = partition or None
    kinds = (None, *catalog.gpu_types(where))
    totals = {kind: catalog.largest_node_gpus(partition=where, gpu_type=kind) for kind in kinds}
    most = max(totals.values()) if limits.max_gpus is None else limits.max_gpus
    first = min(settings.hours, settings.max_hours)
    hours = sorted({first, settings.max_hours, *_HOURS})
    return {
        "gpus": {kind or "": min(n_gpus, most) for kind, n_gpus in totals.items() if n_gpus},
        "hours": [
            [str(each), format_duration(each * SECONDS_PER_HOUR)]
            for each in hours
            if each <= settings.max_hours
        ],
        "first_hours": str(first),
        "budget": charged.left,
    }
