"""Pickles functions, arguments and results for a run's folder."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from ..errors import LaunchError


def pickled(value: object, refusal: str) -> bytes:
    """Return a `value` as bytes, functions by value if the notebook defines them.

    `refusal` begins the message if cloudpickle does not take it, without a full stop.

    Raises:
        LaunchError: If it cannot be pickled, or there is no cloudpickle.
    """
    try:
        import cloudpickle
    except ImportError as error:
        raise LaunchError(
            "This kernel's environment has no cloudpickle, which carries functions to the ranks. "
            "Choose the kernel tensorflow, or install cloudpickle where this kernel runs."
        ) from error
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        raise LaunchError(
            f"{refusal} ({error}). Use numbers, text, arrays, dictionaries and lists, and open "
            "files, models and data sets inside the function."
        ) from error


def unpickled(path: Path) -> Any:
    """Return the object in a file that only the user can write, such as those of a run's folder."""
    with path.open("rb") as file:
        return pickle.load(file)  # noqa: S301
