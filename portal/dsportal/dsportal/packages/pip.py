"""pip in a kernel, which says in a sentence if the kernel's own packages are in the way.

It is started as a file, by the interpreter of an overlay.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence

# Source: pip 23 to 25, `Factory.get_installation_error`.
_CONSTRAINED = re.compile(r"The user requested \(constraint\) ([\w.-]+)==(\S+)")
_INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Run pip.

    Returns:
        pip's exit status.
    """
    # Without the notebook's folder, in which somebody else may have put a module of the name.
    pip = [sys.executable, "-P", "-m", "pip"]
    # Only an installation can meet the constraints; everything else is pip's alone.
    if "install" not in argv:
        os.execv(pip[0], [*pip, *argv[1:]])  # noqa: S606
    if "--user" in argv:
        print("--user is left out: your packages for this kernel have a folder in your home.")
        argv = [word for word in argv if word != "--user"]
    with tempfile.TemporaryDirectory(prefix="dsportal-pip-") as folder:
        log = os.path.join(folder, "log")
        try:
            # A log of its own: output that is captured would hide pip's progress from the cell.
            status = subprocess.run([*pip, "--log", log, *argv[1:]], check=False).returncode
        except KeyboardInterrupt:
            return _INTERRUPTED
        if status != 0 and os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as file:
                sentence = explain(file.read())
            if sentence:
                print(sentence, file=sys.stderr, flush=True)
    return status


def explain(log: str) -> str:
    """Return what keeps packages from being installed, from pip's log; "" if it is not the kernel.

    >>> explain("The user requested (constraint) numpy==2.4.6")[:29]
    'This kernel comes with numpy '
    """
    found = dict.fromkeys(f"{name} {version}" for name, version in _CONSTRAINED.findall(log))
    if not found:
        return ""
    return (
        f"This kernel comes with {', '.join(found)}, which your packages cannot replace. Choose "
        "versions of your packages that work with that, or install them in an environment of your "
        "own: 'New Environment' in the launcher, or dsportal environments new --help"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv))
