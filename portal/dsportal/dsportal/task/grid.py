"""The points of a sweep: all combinations of values, and their names. Pure."""

import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dsportal.errors import LaunchError

# Unless the site changes MaxArraySize.
MAX_POINTS = 1001
_NOT_IN_FILES = re.compile(r"[^\w=.,+-]+")
_MAX_NAME_CHARACTERS = 100


def grid_points(
    grid: object, n: int | None = None, seed: int = 0, most: int = MAX_POINTS
) -> list[dict[str, Any]]:
    """Return the keyword arguments of each point.

    Args:
        grid: Lists of values by the name of an argument, of which every combination is a point, or
            a list with a dictionary for each point.
        n: Points to pick from the grid at random, each once; None for all of them, in order.
        seed: The same one picks the same points.
        most: Points that Slurm takes as one array.

    Source:
        slurm.conf(5), MaxArraySize, Slurm 22.05.
    """
    points: Sequence[dict[str, Any]]
    if isinstance(grid, Mapping):
        points = _Product({name: _values(name, values) for name, values in grid.items()})
    elif isinstance(grid, Iterable) and not isinstance(grid, str):
        points = [dict(each) if isinstance(each, Mapping) else _refuse(grid) for each in grid]
    else:
        points = [_refuse(grid)]
    if n is not None and len(points):
        if not 1 <= n <= len(points):
            raise LaunchError(
                f"You asked for n={n!r} of the {len(points)} points of the grid. Give a number "
                f"from 1 to {len(points)}."
            )
        points = random.Random(seed).sample(points, n)  # noqa: S311
    if not 1 <= len(points) <= most:
        raise LaunchError(
            f"The grid has {len(points)} points, and an array of this Slurm 1 to {most}. Give "
            f"other values, or n={most} to pick as many at random."
        )
    return list(points)


class _Product(Sequence[dict[str, Any]]):
    """Every combination of values, the last name's changing first; none is made before it is asked.

    So n points can be picked of more than memory holds.
    """

    def __init__(self, values: dict[str, list[Any]]) -> None:
        self._values = values

    def __len__(self) -> int:
        return math.prod(map(len, self._values.values())) if self._values else 0

    def __getitem__(self, index: Any) -> Any:
        point = {}
        for name, values in reversed(self._values.items()):
            index, place = divmod(index, len(values))
            point[name] = values[place]
        # iter() ends at the first index that is too large.
        if index:
            raise IndexError
        return {name: point[name] for name in self._values}


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
