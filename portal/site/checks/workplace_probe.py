"""What users work with on a node: kernels and data of the templates, shell, sshd, and space.

`node_probe` runs it as text with its own Python, so it stands alone: only Python's own library,
for Python 3.9 or newer. The question is a JSON object on standard input, see
`portal.site.checks.test_job.node_probe_input`; the answer is one line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

PYTHON_S = 20.0
MIB = 1024 * 1024
# How the names of kernels of the registry begin.
REGISTERED = ("site-", "own-")
# Where Jupyter looks for kernels besides the notebook server's environment.
# Source: jupyter_core, jupyter --paths; docs.jupyter.org, "Common Directories and File Locations".
KERNEL_FOLDERS = ("~/.local/share/jupyter", "/usr/local/share/jupyter", "/usr/share/jupyter")
# As in portal/server/ssh/sshd.py.
SSHD_FOLDERS = "/usr/sbin:/usr/local/sbin:/sbin"
_LIST_REGISTRY = """
import json, sys
from pathlib import Path
from portal.environments.registry import read_registry
registry = read_registry(Path(sys.argv[1]), Path.home())
print(json.dumps([one.kernel_name for one in registry.environments]))
"""


def main() -> None:
    """Look, and print what was found."""
    question = json.load(sys.stdin)
    server, templates = Path(question["server"]), Path(question["templates"])
    found = {
        "lacking": lacking_kernels(templates, kernel_names(server, question["registry"])),
        "data": {
            name: read_first_file(name, [Path(folder) for folder in question["data_folders"]])
            for name in question["data"]
        },
        "missing_shell": missing_shell(),
        "has_sshd": shutil.which("sshd", path=SSHD_FOLDERS) is not None,
        "free_mib": {
            folder: free_mib(folder) for folder in (str(Path.home()), *question["storage"])
        },
    }
    print(json.dumps(found), flush=True)


def kernel_names(server: Path, registry: str) -> set[str]:
    """Return the names of the kernels that a session offers.

    `registry` is the site's file of environments.
    """
    shared = [server / "share/jupyter", *(Path(one).expanduser() for one in KERNEL_FOLDERS)]
    names = {spec.parent.name for one in shared for spec in one.glob("kernels/*/kernel.json")}
    # The server's Python has the portal's package; this one may not.
    done = run([str(server / "bin/python"), "-I", "-c", _LIST_REGISTRY, registry])
    # An environment that says nothing is `node_probe`'s to report.
    with contextlib.suppress(ValueError):
        names.update(json.loads(done))
    return names


def lacking_kernels(templates: Path, names: set[str]) -> dict[str, list[str]]:
    """Return the kernels that templates name and a session lacks; `names` are those it has.

    Returns:
        The templates of each, by the kernel's name; empty if the site or the user has kernels
        of their own, which may have what the templates need under another name.
    """
    lacking: dict[str, list[str]] = {}
    if any(name.startswith(REGISTERED) for name in names):
        return lacking
    for path in sorted([*templates.glob("*.ipynb"), *templates.glob("*/*.ipynb")]):
        # Templates belong to the site: one that is no notebook must not end the look.
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            metadata = json.loads(path.read_text("utf-8"))["metadata"]
            name = metadata["kernelspec"]["name"]
            if name not in names and not metadata.get("portal", {}).get("optional"):
                lacking.setdefault(name, []).append(str(path.relative_to(templates)))
    return lacking


def read_first_file(name: str, folders: list[Path]) -> str:
    """Read the beginning of a file below the first folder that has it.

    Returns:
        What is wrong; empty if nothing.
    """
    said = "missing"
    for folder in folders:
        try:
            with Path(folder, name).open("rb") as file:
                said = "" if file.read(1) else "empty"
        except FileNotFoundError:
            continue
        except OSError as error:
            said = f"{Path(folder, name)}: {error.strerror}"
        break
    return said


def free_mib(folder: str) -> int | None:
    """Return the space that a user can still fill.

    Returns:
        MiB, without quotas that the file system does not report; None if that is unknown.
    """
    with contextlib.suppress(OSError):
        disk = os.statvfs(folder)
        # Not f_bfree, which contains what only root may fill.
        return disk.f_bavail * disk.f_frsize // MIB
    return None


def missing_shell() -> str:
    """Return the shell of this account if the node does not have it; empty if all is well."""
    with contextlib.suppress(KeyError):
        shell = pwd.getpwuid(os.getuid()).pw_shell
        return "" if not shell or shutil.which(shell) else shell
    return ""


def run(argv: list[str]) -> str:
    """Return what a program prints; empty if it cannot be run or takes too long."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=PYTHON_S, cwd="/"
        )
        return done.stdout.decode("utf-8", "replace")
    return ""


if __name__ == "__main__":
    main()
