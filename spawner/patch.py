"""Puts a function around one of another project's, once."""

import functools
from collections.abc import Callable
from typing import Any

_PATCHED = "_dsportal_patch"


def wrap(owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function by what `around` makes of it; one that is replaced already stays.

    Args:
        owner: A class, a module or an object of another project.
        name: Attribute of it. tests/patches.toml has a line for each.
        around: Gets the original.
    """
    original = getattr(owner, name)
    if not hasattr(original, _PATCHED):
        patched = functools.wraps(original)(around(original))
        setattr(patched, _PATCHED, True)
        setattr(owner, name, patched)
