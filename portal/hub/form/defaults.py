"""Initial selection of the form: from a link, or the user's last choice, if it is still offered."""

from collections.abc import Mapping

from dsportal.slurm.errors import OptionsError
from spawner.options.job_options import JobOptions, offered_gpu_types
from spawner.options.limits import Limits
from spawner.options.option_table import OPTIONS
from spawner.slurm.catalog import Catalog

_PREFIX = "opt-"


def options_of_link(query: Mapping[str, list[str]]) -> dict[str, object]:
    """Return the options in a link to the form.

    Args:
        query: Query arguments, such as "gpus" and "hours", with or without JupyterHub's prefix
            "opt-".

    Returns:
        Options by name, unparsed; other arguments are left out.
    """
    found: dict[str, object] = {}
    for name, values in query.items():
        key = name.removeprefix(_PREFIX)
        if key in OPTIONS and values and values[0]:
            found[key] = values[0]
    return found


def select(options: Mapping[str, object], catalog: Catalog, limits: Limits) -> JobOptions:
    """Return the options to mark on the form.

    `options` come from a link or from the user's last start.

    Returns:
        Without options that are not offered or cannot be parsed.
    """
    kept: dict[str, object] = {}
    for key in OPTIONS:
        # A rescue session has its own form, see _Form.render.
        if key in options and key != "rescue" and _is_offered(key, options[key], catalog, limits):
            kept[key] = options[key]
    return JobOptions.parse(kept)


def _is_offered(key: str, value: object, catalog: Catalog, limits: Limits) -> bool:
    try:
        parsed = JobOptions.parse({key: value})
    # Links and last choices may be older than the site's settings.
    except OptionsError:
        return False
    if key == "gpu_type":
        return parsed.gpu_type in offered_gpu_types(catalog, limits)
    if key == "hours":
        return parsed.walltime_s is None or parsed.walltime_s <= limits.max_walltime_s
    if key == "partition":
        return parsed.partition in limits.partitions
    return not OPTIONS[key].listed_in or parsed.name(key) in limits.names(key)
