from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]


def test_the_package_needs_nothing_but_python_itself():
    program = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        "import portal.launch, portal.launch.worker.rank\n"
        "print(*sorted(name for name in sys.modules if name.startswith(('portal', 'spawner'))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    others = [
        name
        for name in done.stdout.split()
        if not name.startswith(("portal.launch", "spawner.diagnosis", "spawner.slurm"))
    ]
    assert others == [
        "portal",
        "portal.socket_owner",
        "portal.whole_file",
        "spawner",
        "spawner.amounts",
        "spawner.errors",
    ]
