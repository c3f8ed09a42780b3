"""The list of what an environment is made of has each package of its lock, with hashes."""

import json
import subprocess
from pathlib import Path

from deploy.environments.builder.plan import Plan

SBOM = Plan().source_dir / "deploy/sbom"


def read_lists(folder: Path) -> dict[str, list[dict[str, object]]]:
    subprocess.run([SBOM, "--out", folder], check=True, capture_output=True, timeout=300)
    found = folder.glob("*.cdx.json")
    return {path.name.split(".")[0]: json.loads(path.read_text())["components"] for path in found}


def test_every_environment_is_listed_with_hashes_and_each_time_alike(tmp_path: Path) -> None:
    lists = read_lists(tmp_path / "first")

    assert {"hub", "server", "tensorflow-gpu", "pytorch", "mxnet", "horovod", "proxy"} <= {*lists}
    for name, components in lists.items():
        assert components, name
        assert all("SHA-" in json.dumps(component) for component in components), name
    assert lists == read_lists(tmp_path / "second")
