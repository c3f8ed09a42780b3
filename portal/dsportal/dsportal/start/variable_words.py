"""Variables that cannot come along, in words."""
# mypy: allow-untyped-defs, allow-untyped-calls

import contextlib
import io
import socket
import symtable
import threading
import types

KINDS = (
    (io.IOBase, "open file"),
    (types.GeneratorType, "generator"),
    (types.CoroutineType, "coroutine"),
    (threading.Thread, "thread"),
    ((type(threading.Lock()), type(threading.RLock())), "lock"),
    (socket.socket, "socket"),
)


class CannotComeError(Exception):
    """A variable cannot come along."""


def describe(name, value, error, shell):
    """Return the variable `name` in words: what it is, or the `error`, and the cell that made it.

    Args:
        value: Its value, or None if that is not known.
        shell: IPython's.
    """
    kind = next((words for kinds, words in KINDS if isinstance(value, kinds)), None)
    if kind is None:
        kind = " ".join(str(error).split())[:100]
        if not isinstance(error, CannotComeError):
            kind = f"{type(error).__name__}: {kind}"
    cell = cell_of(name, shell.history_manager.input_hist_parsed)
    return "{} ({}{})".format(name, kind, f", cell {cell}" if cell else "")


def cell_of(name, cells):
    """Return the number of the last of the `cells`, as Python code, that set a name, or 0."""
    for number in range(len(cells) - 1, 0, -1):
        with contextlib.suppress(SyntaxError, ValueError, KeyError):
            if symtable.symtable(cells[number], "cell", "exec").lookup(name).is_assigned():
                return number
    return 0


def lost_words(lost):
    """Return what does not come along, `lost` in words, as a sentence."""
    return "Not restored: {}.".format("; ".join(lost)) if lost else ""


def largest(sizes):
    """Return the largest variables, by their `sizes` in bytes, as a sentence."""
    names = sorted(sizes, key=sizes.get, reverse=True)[:3]
    return "Largest: {}.".format(", ".join(name + " " + size(sizes[name]) for name in names))


def size(n_bytes):
    """Return `n_bytes` in words."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"
