"""torchvision's operators, declared in an environment without CUDA."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from deploy.environments.builder import torchvision
from deploy.environments.builder.errors import BuildError


@pytest.fixture
def extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of an environment whose programs succeed."""
    monkeypatch.setattr(torchvision, "run", lambda *_, **__: None)
    path = tmp_path / "lib/python3.11/site-packages/torchvision/extension.py"
    path.parent.mkdir(parents=True)
    path.write_text("def _has_ops():\n    return False\n")
    return path


def test_the_operators_are_declared_once(tmp_path: Path, extension: Path) -> None:
    torchvision.declare_operators(tmp_path, io.StringIO())
    torchvision.declare_operators(tmp_path, io.StringIO())

    assert extension.read_text().count("define(") == 1


def test_the_file_in_the_cache_of_uv_stays_as_it_was(tmp_path: Path, extension: Path) -> None:
    cached = tmp_path / "cached.py"
    cached.hardlink_to(extension)

    torchvision.declare_operators(tmp_path, io.StringIO())

    assert "define(" in extension.read_text()
    assert "define(" not in cached.read_text()


def test_a_torchvision_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"extension\.py"):
        torchvision.declare_operators(tmp_path, io.StringIO())
