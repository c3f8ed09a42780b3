from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import spawner
from portal import launch

LIBRARY = Path(__file__).parents[3] / "portal/library"


def test_the_package_needs_nothing_but_python_itself() -> None:
    program = (
        f"import sys; sys.path.append({str(LIBRARY)!r})\n"
        "import dsportal, dsportal.worker.rank\n"
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


def test_it_has_the_version_of_the_portal() -> None:
    assert launch.__version__ == spawner.__version__
