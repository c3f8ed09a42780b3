"""What a Python of a session runs first: it changes nothing that a program could notice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.debugger import FIRST, GREETING, TIMEOUT_S, debugged, open_ports
from tests.support.other_user import read

MODULES = "import sys; print(*sorted(sys.modules))"
LAUNCHER = (
    "from ipykernel import kernelapp; "
    "print(kernelapp.launch_new_instance == kernelapp.IPKernelApp.launch_instance)"
)
WAIT = "print('ready', flush=True); input()"


def run(*arguments: str, path: str = str(FIRST), **environ: str) -> str:
    """Return what Python prints, with nothing else on PYTHONPATH."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**variables, "PYTHONPATH": path, **environ},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def test_a_program_imports_nothing_more_than_this(tmp_path: Path) -> None:
    usual = run("-c", MODULES, path=str(tmp_path)).split()

    assert set(run("-c", MODULES).split()) - set(usual) <= {"sitecustomize"}


def test_what_it_hides_runs_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.ours = __name__, __file__\n")

    printed = run("-c", "import sys; print(*sys.ours)", path=f"{FIRST}:{tmp_path}:{tmp_path}/b")

    assert printed.split() == ["sitecustomize", f"{tmp_path}/sitecustomize.py"]


@pytest.mark.parametrize(("session", "is_unchanged"), [("", True), ("/run/session", False)])
def test_only_a_kernel_of_a_session_starts_in_another_way(session: str, is_unchanged: bool) -> None:
    assert run("-c", LAUNCHER, PORTAL_SERVER_SOCKET=session).strip() == str(is_unchanged)


def test_an_older_ipykernel_is_left_as_it_is(tmp_path: Path) -> None:
    package = tmp_path / "ipykernel"
    package.mkdir()
    (package / "__init__.py").write_text("version_info = (5, 5, 6)\n")
    (package / "kernelapp.py").write_text("launch_new_instance = None\n")
    code = "from ipykernel import kernelapp; print(kernelapp.launch_new_instance)"

    printed = run("-c", code, path=f"{FIRST}:{tmp_path}", PORTAL_SERVER_SOCKET="/run/session")

    assert printed == "None\n"


def test_a_finder_of_the_old_kind_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.meta_path.insert(1, type('Old', (), {'find_module': lambda *_: None})())\n"
    )

    printed = run("-c", LAUNCHER, path=f"{FIRST}:{tmp_path}", PORTAL_SERVER_SOCKET="/run/session")

    assert printed.strip() == "False"


def test_a_debugged_program_tells_its_own_user_where_it_stands(tmp_path: Path) -> None:
    ports = tmp_path / "ports"
    code = f"import debugpy, json; open({str(ports)!r}, 'w').write(json.dumps(debugpy.listen(0)))"
    with debugged("-Xfrozen_modules=off", "-c", f"{code}; {WAIT}") as mark:
        _, port = json.loads(ports.read_text())

        assert port in open_ports(mark)
        assert read([port], None, greeting=GREETING, is_enough=True) > [0]
