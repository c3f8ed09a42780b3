"""A notebook that a job runs to its end: its parameters, and the files that stand beside it."""

import ast
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsportal.errors import LaunchError
from dsportal.task.folder import RunFolder

SUFFIX = ".ipynb"
# R's names have dots.
_NAME = re.compile(r"[^\W\d][\w.]*")
# Of a script, without the hyphens in front.
_OPTION = re.compile(r"[^\W\d][\w.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a job leaves beside the notebook; each name has the date of the run."""

    executed: Path
    log: Path
    result: Path


def is_notebook(train: object) -> bool:
    """Return whether `train`, what `run` was given, is the path of a notebook."""
    return isinstance(train, (str, Path)) and Path(train).suffix == SUFFIX


def files_beside(notebook: Path, folder: RunFolder) -> Beside:
    """Return the files of a run, named such as `train-20261120-203845-k3v9.ipynb`.

    Those of a point of a sweep, which may have a thousand, are in its own folder.
    """
    if folder.is_point:
        stem = folder.path / f"{notebook.stem}-{folder.name}"
    else:
        date, time, *_, salt = folder.name.split("-")
        stem = notebook.with_name(f"{notebook.stem}-{date}-{time}-{salt}")
    return Beside(
        executed=stem.with_name(f"{stem.name}{SUFFIX}"),
        log=stem.with_name(f"{stem.name}.log"),
        result=stem.with_name(f"{stem.name}.json"),
    )


def find_notebook(text: str | Path) -> Path:
    """Return the absolute path of a readable notebook, in a folder that takes its output."""
    path = Path(text).expanduser().absolute()
    if not path.is_file():
        raise LaunchError(f"There is no notebook {path}. Paths start at {Path.cwd()}.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        is_one = isinstance(content["cells"], list)
    except OSError as error:
        raise LaunchError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError):
        is_one = False
    if not is_one:
        raise LaunchError(
            f"{path} is no notebook of version 4. Open it in JupyterLab and save it again."
        )
    try:
        has_kernel = bool(content["metadata"]["kernelspec"]["name"])
    except (KeyError, TypeError):
        has_kernel = False
    if not has_kernel:
        raise LaunchError(
            f"{path} names no kernel to run in. Open it in JupyterLab, choose a kernel and save it."
        )
    if not os.access(path.parent, os.W_OK):
        raise LaunchError(
            f"The executed notebook stands beside {path}, and you cannot write into that folder. "
            "Copy the notebook into a folder of yours."
        )
    return path


def check_parameters(parameters: object, *, is_option: bool = False) -> dict[str, Any]:
    """Return the `parameters` that a user gave for a notebook or as options, by name."""
    if not isinstance(parameters, Mapping):
        raise LaunchError(
            f"You asked for parameters={parameters!r}; give a dictionary, such as "
            "parameters={'lr': 0.1}."
        )
    for name, value in parameters.items():
        if not isinstance(name, str) or not (_OPTION if is_option else _NAME).fullmatch(name):
            of = "an option of a script" if is_option else "a variable in the notebook"
            raise LaunchError(f"{name!r} cannot be the name of {of}.")
        try:
            json.dumps(value)
        except (TypeError, ValueError) as error:
            raise LaunchError(
                f"The parameter {name} cannot be sent ({error}). Use numbers, text, true or false, "
                "lists and dictionaries."
            ) from error
    return dict(parameters)


def parse_parameter(text: str, *, is_option: bool = False) -> tuple[str, Any]:
    """Return name and value of `NAME=VALUE`, a value of JSON or Python, or else a text."""
    name, equals, value = text.partition("=")
    if not equals or not (_OPTION if is_option else _NAME).fullmatch(name):
        raise LaunchError(f"You asked for -p {text}; give a name and a value, such as -p lr=0.1")
    for parse in (json.loads, ast.literal_eval):
        # Python has values that JSON has not, such as sets.
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return name, json.loads(json.dumps(parse(value)))
    return name, value
