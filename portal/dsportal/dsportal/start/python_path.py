"""What a session has on PYTHONPATH: a kernel puts it back.

A module, an image or the entry of the environment may have set another.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import os
import runpy
import sys


def guard_debuggers():
    """Let only programs of the user reach the debugger of the kernel and of what it starts.

    Python itself has done it where it found the folder on PYTHONPATH.
    """
    folder = os.path.join(os.environ.get("PORTAL_LIBRARY", ""), "dsportal/start/first")
    path = os.environ.get("PYTHONPATH", "")
    if os.path.isdir(folder) and folder not in path.split(os.pathsep):
        runpy.run_path(os.path.join(folder, "sitecustomize.py"))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, path]))


def offer_library():
    """Import `dsportal` from the session's folder, which has no other package."""
    folder = os.environ.get("PORTAL_LIBRARY", "")
    if folder and folder not in sys.path:
        sys.path.append(folder)
        # For the ranks and whatever else the kernel starts.
        parts = filter(None, [os.environ.get("PYTHONPATH"), folder])
        os.environ["PYTHONPATH"] = os.pathsep.join(parts)
