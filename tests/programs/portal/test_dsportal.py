"""The project of `dsportal`: its wheel, and what the package needs."""

import importlib
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import dsportal
import spawner
from deploy.environments.builder.package import copy_sources
from deploy.environments.builder.plan import Plan
from tests.support.checkout import LIBRARY

BUILD = "import setuptools.build_meta as build; build.build_wheel('.')"
NO_SESSION = "This Python runs in no Slurm job, so there are no GPUs to start ranks on."


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = copy_sources(Plan(), tmp_path_factory.mktemp("wheel") / "source") / "portal/dsportal"
    done = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return next(copy.glob("*.whl"))


def test_it_holds_one_package_with_its_licence_and_needs_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (info,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(info).decode()

    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"dsportal"}
    assert {"dsportal/start/first/sitecustomize.py", "dsportal/py.typed"} <= set(names)
    assert [name for name in names if name.endswith("licenses/LICENSE")]
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert all("extra ==" in line for line in needed)
    assert "Name: dsportal\n" in metadata


def test_in_an_empty_environment_run_says_what_it_needs(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    python = tmp_path / "bin/python"
    install = ["-m", "pip", "--python", str(python), "install", "--no-index", "--quiet", wheel]
    subprocess.run([sys.executable, *install], check=True)

    done = subprocess.run(
        [python, "-I", "-c", "from dsportal import checkpoint, report, run\nrun(print, gpus=2)"],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert NO_SESSION in done.stderr


def test_the_package_needs_nothing_but_python_itself() -> None:
    program = (
        f"import sys; sys.path.append({str(LIBRARY)!r})\n"
        "import dsportal.worker.rank, dsportal.notebook.runner\n"
        "print(*sorted(name for name in sys.modules if name.startswith(('portal', 'spawner'))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_an_older_python_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (LIBRARY / "dsportal/__init__.py").read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))
    monkeypatch.setattr(sys, "version", "3.9.18 (main)")

    with pytest.raises(ImportError, match=r"needs Python 3\.10 or newer, .* has 3\.9\.18\. Choose"):
        exec(program, {"__name__": "dsportal"})


def test_an_older_ipython_has_the_magic_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[str] = []
    shell = SimpleNamespace(
        magics_manager=object(),
        register_magic_function=lambda function, kind, name: registered.append(name),
    )
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)

    importlib.reload(dsportal)

    assert registered == ["ranks"]


def test_it_has_the_version_of_the_portal() -> None:
    assert dsportal.__version__ == spawner.__version__
