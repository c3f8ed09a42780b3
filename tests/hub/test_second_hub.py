"""A second hub on the state of one that runs."""

import os
import subprocess
import sys

from tests.hub.private_hub import Browser, PrivateHub
from tests.support.checkout import PYTHONPATH


def test_a_second_hub_ends_with_one_sentence_and_the_first_goes_on(hub: PrivateHub) -> None:
    folder = hub.cluster_path.parent

    second = subprocess.run(
        [sys.executable, "-m", "jupyterhub", "-f", folder / "config.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert second.returncode == 1
    assert f"Another hub (process {hub.pid}) uses {folder}." in second.stderr
    assert "Traceback" not in second.stderr
    assert Browser(hub).log_in("ada").ok
