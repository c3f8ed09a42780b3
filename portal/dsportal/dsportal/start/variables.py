"""Saves the variables of a notebook in one kernel, and restores them in the next.

Functions and classes of cells go by value, with cloudpickle, and see the notebook's variables there
as here. One pickle has all variables, so what two of them share stays shared. One that cannot be
saved or restored is named, and changes nothing of the others.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import contextlib
import gc
import importlib.util
import io
import json
import os
import pickle
import pickletools
import re
import stat
import sys
import types
from typing import Any

from . import keras_parts, torch_storage
from .variable_pickler import pickler_of
from .variable_words import CannotComeError, describe, largest, lost_words
from .variable_writer import TooMuchError, Writer

NO_CLOUDPICKLE = (
    "The environment of this kernel has no cloudpickle, so its variables stay behind. Next time "
    "they come along if you run %pip install cloudpickle there."
)
PICKLE = "variables.pickle"
INDEX = "index.json"
# Slurm sets them anew for each job.
OF_THE_JOB = re.compile(r"(SLURM|PORTAL|CUDA_VISIBLE|ROCR_VISIBLE|GPU_DEVICE|JPY_)")
# Names that IPython sets itself, and Python in each module.
OF_IPYTHON = re.compile(r"_|__|___|_i+|_i?\d+|_[dio]h|_exit_code|__\w+__")
# Takes the place of what could not be restored, so that whatever refers to it is noticed.
HOLE = object()


def save(shell, folder, max_bytes, max_s, show=lambda words: None):
    """Save the variables of IPython's `shell`, in `max_bytes` and `max_s` at most.

    Args:
        folder: Where, which only the user may enter.
        show: Takes words about how far it is.

    Returns:
        "saved", the number of variables, "bytes", and "lost": what cannot come along, in words. If
        there is no cloudpickle, only "why".

    Raises:
        TooMuchError: If they are too large, or take too long.
    """
    if importlib.util.find_spec("cloudpickle") is None:
        return {"why": NO_CLOUDPICKLE}
    file = os.open(os.path.join(folder, PICKLE), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "wb") as opened:
        writer = Writer(opened, max_bytes, max_s, show)
        entries, lost = dump(shell, writer)
        n_bytes = opened.tell()
    history = shell.history_manager
    index = {
        "python": sys.implementation.cache_tag,
        "entries": entries,
        "folder": os.getcwd(),
        "path": sys.path,
        "environ": changed_environ(),
        "cells": [history.input_hist_parsed, history.input_hist_raw],
    }
    file = os.open(os.path.join(folder, INDEX), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as opened:
        json.dump(index, opened)
    return {"saved": len(entries), "bytes": n_bytes, "lost": lost}


def dump(shell, writer):
    """Write the variables of IPython's `shell` to a `writer`.

    Returns:
        Of each its name, its place in the file and the number of its first object, and what cannot
        come along, in words.
    """
    pickler = pickler_of(writer, shell.user_ns)
    records, lost, sizes = [], [], {}
    for name in names_of(shell):
        record, start = [name, shell.user_ns[name]], writer.file.tell()
        try:
            pickler.dump(record)
        except TooMuchError as error:
            sizes[name] = writer.file.tell() - start
            raise TooMuchError(f"{error} {largest(sizes)}") from None
        # Whatever a class of the user's raises when it is reduced.
        except Exception as error:
            lost.append(describe(name, record[1], error, shell))
            # Nothing that is written from now on may refer to a part of it.
            memo = pickler.memo.copy()
            first = memo.get(id(record), (len(memo),))[0]
            pickler.memo = {key: one for key, one in memo.items() if one[0] < first}
            writer.file.seek(start)
            writer.file.truncate()
        else:
            sizes[name] = writer.file.tell() - start
            records.append((record, start))
        finally:
            pickler.release()
    entries = []
    for record, start in records:
        # What has been written is referred to by its number.
        pickler.dump(record)
        numbers = [arg for op, arg, _ in pickletools.genops(writer.last) if "GET" in op.name]
        entries.append([record[0], start, numbers[0]])
    return entries, lost


def restore(shell, folder, told=None):
    """Restore in IPython's `shell` the variables that `save` has saved in a `folder`.

    Args:
        told: What the notebook is to show before its next cell, with what cannot be restored. None
            for nothing.

    Returns:
        "restored", the number of variables, and "lost": what could not be restored, in words.

    Raises:
        PermissionError: If others could have changed the files.
        CannotComeError: If another version of Python has saved them.
    """
    with open_own(os.path.join(folder, INDEX)) as file:
        index = json.load(io.TextIOWrapper(file, "utf-8"))
    # Compiled code of another one ends this process.
    if index["python"] != sys.implementation.cache_tag:
        raise CannotComeError(
            f"{index['python']} has saved them, and this kernel is {sys.implementation.cache_tag}"
        )
    os.environ.update(index["environ"])
    with contextlib.suppress(OSError):
        os.chdir(index["folder"])
    sys.path += [path for path in index["path"] if path not in sys.path]
    history = shell.history_manager
    # A kernel whose variables come back has more cells than they.
    if len(index["cells"][0]) > len(history.input_hist_parsed):
        history.input_hist_parsed[:], history.input_hist_raw[:] = index["cells"]
        shell.execution_count = len(history.input_hist_parsed)
    torch_storage.MOVED.clear()
    builtins = shell.user_ns["__builtins__"]
    with open_own(os.path.join(folder, PICKLE)) as file:
        lost = load(file, index["entries"], shell)
    # Each function sets what its own module had.
    shell.user_ns["__builtins__"] = builtins
    if torch_storage.MOVED:
        lost.append("tensors of a GPU are in the memory of the node now")
    if told is not None and (told or lost):
        show_before_a_cell(shell, " ".join(filter(None, [told, lost_words(lost)])))
    return {"restored": len(index["entries"]), "lost": lost}


def load(file, entries, shell):
    """Read variables into IPython's `shell`, and return those that cannot be restored, in words.

    Args:
        file: What `dump` has written.
        entries: What it has returned.
    """
    unpickler: Any = pickle.Unpickler(file)  # noqa: S301 - nobody else could have written it
    lost = []
    was_on = gc.isenabled()
    # It would change the number of references.
    gc.disable()
    try:
        for number, (name, start, first) in enumerate(entries):
            file.seek(start)
            record = None
            n_references = sys.getrefcount(HOLE)
            try:
                with keras_parts.known_classes(shell.user_ns):
                    record = unpickler.load()
                if sys.getrefcount(HOLE) != n_references:
                    raise CannotComeError("a part of it cannot be restored")
            except Exception as error:
                lost.append(describe(name, record, error, shell))
                after = entries[number + 1][2] if number + 1 < len(entries) else first
                memo = dict.fromkeys(range(after), HOLE)
                for key, one in unpickler.memo.copy().items():
                    if key < first or is_imported(one):
                        memo[key] = one
                # The one in C takes a memo, but goes on to count where it was.
                unpickler = pickle._Unpickler(file)
                unpickler.memo = memo
            else:
                shell.user_ns[name] = record[1]
    finally:
        if was_on:
            gc.enable()
    return lost


def is_imported(value):
    """Return whether a value is whole as soon as a pickle names it."""
    names = (str, type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
    return isinstance(value, names) and getattr(value, "__module__", "") != "__main__"


def open_own(path):
    """Open the file at `path` that only its user could have written.

    Raises:
        PermissionError: If it is another one.
    """
    # A pipe would wait for somebody who writes.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    found = os.fstat(file.fileno())
    is_own = found.st_uid == os.geteuid() and not found.st_mode & 0o077
    if not (is_own and stat.S_ISREG(found.st_mode)):
        file.close()
        raise PermissionError(path + " is not the user's alone, so nothing is restored from it.")
    return file


def names_of(shell):
    """Return the names to save in IPython's `shell`: those that others need come first."""
    hidden = shell.user_ns_hidden
    names = [
        name
        for name, value in shell.user_ns.items()
        if not OF_IPYTHON.fullmatch(name) and hidden.get(name, HOLE) is not value
    ]
    first = (types.ModuleType, types.FunctionType, type)
    return sorted(names, key=lambda name: not isinstance(shell.user_ns[name], first))


def changed_environ():
    """Return what cells have changed in the environment, but for what belongs to the job."""
    return {
        name: value
        for name, value in os.environ.items()
        if AT_START.get(name) != value and not OF_THE_JOB.match(name)
    }


def show_before_a_cell(shell, text):
    """Show `text` in the notebook of IPython's `shell`, above the output of the next cell."""
    from IPython.display import display

    def show(_):
        shell.events.unregister("pre_run_cell", show)
        display({"text/plain": text}, raw=True)

    shell.events.register("pre_run_cell", show)


AT_START = dict(os.environ)
