"""Starts a Python kernel of a session: `python .../dsportal/start/kernel.py -f CONNECTION_FILE`.

It runs in environments and images that have ipykernel and nothing of this project, and in Pythons
that are too old for `dsportal`. The modules beside it are therefore a package of their own there.

The folder of a notebook may be somebody else's. Python has the folder of this file on its path in
place of that one, and here it goes: nothing in it may hide a module of the user's.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import importlib
import os
import sys
import types

FOLDER = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "dsportal_start"


def load(name):
    """Import the module `name` of this folder, which imports those beside it relatively."""
    if PACKAGE not in sys.modules:
        package = types.ModuleType(PACKAGE)
        package.__path__ = [FOLDER]
        sys.modules[PACKAGE] = package
    return importlib.import_module(PACKAGE + "." + name)


if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if path and os.path.abspath(path) != FOLDER]
    # ipykernel imports the debugger.
    load("python_path").guard_debuggers()
    load("kernel_start").start_kernel()
