"""`%tensorboard --logdir logs` shows the session's own TensorBoard, in every Python kernel.

Notebooks from elsewhere have it after `%load_ext tensorboard`. TensorBoard's own magic would open a
port, which every user of the node could read.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import argparse
import shlex

USAGE = "Name a folder with logs: %tensorboard --logdir logs"


def register_magic(shell):
    """Register the magic in IPython's `shell`; `%load_ext tensorboard` then changes nothing."""
    shell.register_magic_function(show, "line", "tensorboard")
    shell.extension_manager.loaded.add("tensorboard")


def show(line: str) -> None:
    """Start a TensorBoard and show the link to it: %tensorboard --logdir logs."""
    # Not before: an old Python has no dsportal.
    from dsportal import tensorboard

    tensorboard(*folders_of(line))


def folders_of(line):
    """Return the folders that a line names; ports and other options of TensorBoard do not count.

    Source:
        TensorBoard 2.20, `--logdir` and `--logdir_spec` (name:folder, separated by commas).
    """
    from IPython.core.error import UsageError

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--logdir", default="")
    parser.add_argument("--logdir_spec", default="")
    known, _ = parser.parse_known_args(shlex.split(line))
    named = [part.rpartition(":")[2] for part in known.logdir_spec.split(",")]
    folders = [folder for folder in [known.logdir, *named] if folder]
    if not folders:
        raise UsageError(USAGE)
    return folders
