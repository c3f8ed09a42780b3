"""Which files a lock names."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

PIN = Path(__file__).parents[4] / "deploy/environments/pin"


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    """The program, which has no suffix."""
    loader = SourceFileLoader("pin", str(PIN))
    spec = spec_from_loader("pin", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("wheel", "is_taken"),
    [
        ("six-1.17.0-py2.py3-none-any.whl", True),
        ("torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl", True),
        ("torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl", False),
        ("pyzmq-27.3.0-cp39-abi3-manylinux_2_26_x86_64.manylinux_2_28_x86_64.whl", True),
        ("psutil-7.2.2-cp36-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", True),
        ("x-1-cp313-abi3-manylinux2014_x86_64.whl", False),
        ("x-1-cp311-cp311t-manylinux2014_x86_64.whl", False),
        ("uv-0.13.9-py3-none-manylinux_2_28_aarch64.whl", False),
        ("uv-0.13.9-py3-none-musllinux_1_1_x86_64.whl", False),
        ("uv-0.13.9-py3-none-macosx_11_0_arm64.whl", False),
        ("uv-0.13.9-py3-none-win_amd64.whl", False),
    ],
)
def test_a_lock_takes_the_wheels_of_its_python_on_linux(
    pin: ModuleType, wheel: str, is_taken: bool
) -> None:
    assert pin.fits(wheel, "3.11") is is_taken


def test_a_package_that_comes_in_several_builds_is_locked_to_one(pin: ModuleType) -> None:
    package = {"name": "torch", "version": "1", "sdist": {"hashes": {"sha256": "0a"}}}

    assert next(pin.requirement_lines(package, "3.11")) == "torch===1 \\"


def test_a_package_without_wheels_is_locked_to_its_source(pin: ModuleType) -> None:
    package = {"name": "x", "version": "1", "sdist": {"hashes": {"sha256": "0a"}}}

    assert list(pin.requirement_lines(package, "3.11")) == ["x==1 \\", "    --hash=sha256:0a"]


def test_versions_of_the_present_lock_stay_if_that_is_asked_for(
    pin: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def run(command: list[str | Path], **_: object) -> None:
        asked[:] = map(str, command)
        Path(command[command.index("--output-file") + 1]).write_text("packages = []\n")

    monkeypatch.setattr(pin.subprocess, "run", run)

    pin.resolve("server", "3.11", tmp_path, keep=True)
    assert f"--constraints={pin.lock_path('server', '3.11')}" in asked
    pin.resolve("server", "3.11", tmp_path, keep=False)
    assert not [word for word in asked if word.startswith("--constraints")]
