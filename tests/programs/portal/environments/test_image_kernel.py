"""ipykernel for images that have only Python: the real uv, and a stand-in of apptainer."""

import subprocess
import sys
from pathlib import Path

import pytest

from portal.environments.registry import OWN_PATH, read_tables
from tests.support.environments import environments
from tests.support.wheels import make_wheel

# Runs what would run in the image: the last words, from its interpreter on.
APPTAINER = """#!/bin/bash
echo "$*" >> {log}
while [ "$1" != {image} ]; do shift; done
shift
exec "$@"
"""
# A module can stand for its own submodule.
IPYKERNEL = """\
import sys
import other
sys.modules["ipykernel.kernelapp"] = sys.modules[__name__]
"""


@pytest.fixture
def image(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An image whose Python has one package, in a version that the index has no more."""
    folder = home / "in-the-image"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "other.py").write_text("version = '1.0'\n")
    (site / "other-1.0.dist-info").mkdir()
    (site / "other-1.0.dist-info/METADATA").write_text("Name: other\nVersion: 1.0\n")
    image = home / "bare.sif"
    image.touch()
    apptainer = home / "bin/apptainer"
    apptainer.parent.mkdir()
    apptainer.write_text(APPTAINER.format(log=home / "called", image=image))
    apptainer.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apptainer.parent}:/usr/bin:/bin")
    return image


def add(home: Path, image: Path) -> int:
    return environments("add", image, "--program", home / "in-the-image/bin/python3")


def test_an_image_with_only_python_gets_ipykernel_beside_it(
    home: Path,
    wheels: Path,
    image: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    make_wheel(wheels, "ipykernel", "7.0", IPYKERNEL, requires="other")

    assert add(home, image) == 0, capfd.readouterr()

    beside = home / ".local/share/data-scientist-portal/images/bare.kernel"
    table = read_tables(home / OWN_PATH)["bare"]
    assert table["kernel_packages"] == str(beside)
    # Chosen to fit what the image has, which is not installed again.
    assert table["packages"] == ["ipykernel==7.0", "other==1.0"]
    assert {path.name for path in beside.glob("*.py")} == {"ipykernel.py"}
    assert f"--bind={beside}:{beside}:ro" in (home / "called").read_text()
    # The folder can be removed while a kernel imports from it, which ends the mount that protects
    # it; Python would make it again for its bytecode.
    assert not list(beside.rglob("__pycache__"))
    capfd.readouterr()
    assert environments("check", "bare") == 0, capfd.readouterr()

    assert environments("remove", "bare", "--yes") == 0
    assert not beside.exists()
    assert image.exists()


def test_functions_of_a_notebook_reach_ranks_if_the_index_has_cloudpickle(
    home: Path, wheels: Path, image: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_wheel(wheels, "ipykernel", "7.0", IPYKERNEL, requires="other")

    assert add(home, image) == 0
    assert "cloudpickle could not be installed" in capfd.readouterr().out
    assert environments("remove", "bare", "--yes") == 0

    make_wheel(wheels, "cloudpickle", "3.0", "")
    assert add(home, image) == 0

    table = read_tables(home / OWN_PATH)["bare"]
    assert table["packages"] == ["cloudpickle==3.0", "ipykernel==7.0", "other==1.0"]


@pytest.mark.parametrize(
    ("versions", "sentence"),
    [
        # ipykernel itself needs what the image has in another version.
        ({"8.0": IPYKERNEL}, "ipykernel could not be installed for Python 3"),
        ({"7.0": "raise ImportError('broken')\n"}, "bare was not added. It does not start"),
    ],
    ids=["no fitting version", "a broken kernel"],
)
def test_an_image_for_which_there_is_no_ipykernel_is_not_added(
    home: Path,
    wheels: Path,
    image: Path,
    capfd: pytest.CaptureFixture[str],
    versions: dict[str, str],
    sentence: str,
) -> None:
    (wheels / "ipykernel-7.0-py3-none-any.whl").unlink()
    for version, text in versions.items():
        requires = "other>=2" if version == "8.0" else ""
        make_wheel(wheels, "ipykernel", version, text, requires=requires)

    assert add(home, image) == 1

    said = capfd.readouterr().err
    assert sentence in said
    assert "find-links in ~/.config/pip/pip.conf" in said or "broken" in said
    assert not (home / OWN_PATH).exists()
    assert not list((home / ".local/share/data-scientist-portal/images").iterdir())
