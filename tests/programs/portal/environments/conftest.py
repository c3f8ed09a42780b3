"""A user whose index is a folder of wheels, and whose portal ships one kernel."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.wheels import make_wheel

UV = Path(sys.prefix).parent / "uv"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """All that the index has: a package in a version, and stand-ins of what each kernel has."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    make_wheel(folder, "tiny", "1.0", "version = '1.0'\n")
    make_wheel(folder, "other", "2.0", "")
    make_wheel(folder, "needy", "1.0", "", requires="pytest<1")
    make_wheel(folder, "ipykernel", "7.0", "")
    make_wheel(folder, "pip", "26.0", "")
    return folder


@pytest.fixture
def home(tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user whose portal ships a kernel: the environment of this test."""
    prefix = tmp_path / "environments/server"
    spec = prefix / "share/jupyter/kernels/pytorch/kernel.json"
    spec.parent.mkdir(parents=True)
    described = {
        "argv": [sys.executable],
        "metadata": {"packages_release": "2.13"},
        "env": {"PATH": "/shipped/bin:${PATH}", "KERAS_BACKEND": "torch"},
    }
    spec.write_text(json.dumps(described))
    (tmp_path / "environments/uv").symlink_to(UV)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = {"environments": {"registry": str(tmp_path / "site.toml")}}
    monkeypatch.setenv("PORTAL_SETTINGS", json.dumps(settings))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return tmp_path
