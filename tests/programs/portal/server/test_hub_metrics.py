"""What a user's notebook server loads of the hub."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[4]
PROGRAM = """
import importlib, pkgutil, sys
import portal.server
for module in pkgutil.walk_packages(portal.server.__path__, "portal.server."):
    importlib.import_module(module.name)
from prometheus_client import REGISTRY
print(*(name for name in REGISTRY._names_to_collectors if name.startswith("dsportal")))
"""


def test_a_notebook_server_serves_no_metrics_of_the_hub() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
