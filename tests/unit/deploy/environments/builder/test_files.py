"""What is copied out of the checkout for users and for sudo."""

import io
import stat
from pathlib import Path

import pytest

from deploy.environments.builder.files import (
    install_launcher,
    install_templates,
    launcher_path,
    launcher_programs,
    templates_dir,
)
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.targets import BY_NAME


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(prefix=tmp_path / "prefix", source_dir=tmp_path / "source")


def put(plan: Plan, name: str, text: str) -> None:
    path = plan.source_dir / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_launcher_is_only_roots_to_change_and_reads_no_settings_of_the_users_python(
    plan: Plan,
) -> None:
    for name in ("launcher.py", "extend_time_limit.py", "storage_checks.py"):
        put(plan, f"spawner/programs/{name}", "#!/usr/bin/env python3\nprint(1)\n")

    install_launcher(plan, io.StringIO())

    path = launcher_path(plan)
    assert path.read_text() == "#!/usr/bin/python3 -IS\nprint(1)\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_users_get_the_notebooks_and_what_they_import_and_nothing_else(plan: Plan) -> None:
    for name in ("__init__.py", "tensorflow/digits.ipynb", "shared/digits.py", "tests/test_a.py"):
        put(plan, f"notebook_templates/{name}", name)
    put(plan, "notebook_templates/tensorflow/.ipynb_checkpoints/digits.ipynb", "old")

    install_templates(plan, io.StringIO())

    folder = templates_dir(plan)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {"tensorflow/digits.ipynb", "shared/digits.py"}


def test_a_template_that_is_gone_from_the_checkout_is_gone_for_new_users(plan: Plan) -> None:
    put(plan, "notebook_templates/old/a.ipynb", "a")
    install_templates(plan, io.StringIO())
    (plan.source_dir / "notebook_templates/old/a.ipynb").unlink()
    put(plan, "notebook_templates/new/b.ipynb", "b")

    install_templates(plan, io.StringIO())

    assert [path.name for path in templates_dir(plan).rglob("*.ipynb")] == ["b.ipynb"]


def test_a_change_of_a_program_that_sudo_allows_is_seen() -> None:
    sources = [one for one in BY_NAME["launcher"].made_from(Plan()) if isinstance(one, Path)]

    assert len(sources) == len(launcher_programs(Plan()))
    assert [path for path in sources if not path.is_file()] == []
