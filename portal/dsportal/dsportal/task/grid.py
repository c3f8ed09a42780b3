"""The points of a sweep: all combinations of values, and their names. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dsportal.errors import LaunchError

# Slurm's arrays have at most 1001 tasks, unless the site changes MaxArraySize.
MAX_POINTS = 1000
_NOT_IN_FILES = re.compile(r"[^\w=.,+-]+")
_MAX_NAME_CHARACTERS = 100


def grid_points(grid: object) -> list[dict[str, Any]]:
    """Return the keyword arguments of each point.

    Args:
        grid: Lists of values by the name of an argument, of which every combination is a point, or
            a list with a dictionary for each point.

    Raises:
        LaunchError: If it is neither, or has no point or too many.

    Source:
        slurm.conf(5), MaxArraySize, Slurm 22.05.
    """
    if isinstance(grid, Mapping):
        lists = [_values(name, values) for name, values in grid.items()]
        points = [dict(zip(grid, each, strict=True)) for each in itertools.product(*lists)]
        points = points if grid else []
    elif isinstance(grid, Iterable) and not isinstance(grid, str):
        points = [dict(each) if isinstance(each, Mapping) else _refuse(grid) for each in grid]
    else:
        points = [_refuse(grid)]
    if not 1 <= len(points) <= MAX_POINTS:
        raise LaunchError(
            f"The grid has {len(points)} points; a sweep has 1 to {MAX_POINTS}. Give fewer values."
        )
    return points


def point_name(point: Mapping[str, Any]) -> str:
    """Return a point in one line, such as "lr=0.1, depth=3"."""
    return ", ".join(f"{name}={value!r}" for name, value in point.items())


def folder_of_point(index: int, point: Mapping[str, Any]) -> str:
    """Return the name of a folder for what a point logs: its number `index`, and its values."""
    words = _NOT_IN_FILES.sub("_", point_name(point).replace(", ", ","))
    return f"{index:03}-{words}"[:_MAX_NAME_CHARACTERS]


def _values(name: object, values: object) -> list[Any]:
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise LaunchError(
            f"The grid has {name}={values!r}; give a list of values, such as {name}=[0.1, 0.01]."
        )
    return list(values)


def _refuse(grid: object) -> dict[str, Any]:
    raise LaunchError(
        f"The grid is {grid!r:.80}; give lists of values by name, such as {{'lr': [0.1, 0.01]}}, "
        "or a list with a dictionary for each point."
    )
