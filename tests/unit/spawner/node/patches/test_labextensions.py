"""Which extensions of JupyterLab can be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from spawner.node.patches.labextensions import fault_of_labextension

GOOD: dict[str, Any] = {
    "name": "mine",
    "version": "1.0.0",
    "jupyterlab": {"_build": {"load": "static/remoteEntry.js"}},
}


def write(folder: Path, package: str, install: str = "{}") -> Path:
    path = folder / "package.json"
    path.write_text(package)
    folder.joinpath("install.json").write_text(install)
    return path


@pytest.mark.parametrize("about", [GOOD, {"name": "a", "version": "1"}])
def test_an_extension_as_jupyterlab_builds_them_is_read(
    tmp_path: Path, about: dict[str, Any]
) -> None:
    assert fault_of_labextension(write(tmp_path, json.dumps(about))) == ""


@pytest.mark.parametrize(
    ("package", "install", "words"),
    [
        ("{broken", "{}", "cannot be read"),
        (json.dumps(GOOD), "{broken", "cannot be read"),
        ("[]", "{}", "not that of an extension"),
        ("{}", "{}", "not that of an extension"),
        (json.dumps({"name": "a"}), "{}", "not that of an extension"),
        (json.dumps(GOOD | {"name": 3}), "{}", "not that of an extension"),
        (json.dumps(GOOD | {"jupyterlab": {"_build": {}}}), "{}", "not that of an extension"),
        (json.dumps(GOOD | {"jupyterlab": []}), "{}", "not that of an extension"),
    ],
)
def test_one_that_jupyterlab_would_fail_on_has_a_reason(
    tmp_path: Path, package: str, install: str, words: str
) -> None:
    assert words in fault_of_labextension(write(tmp_path, package, install))
