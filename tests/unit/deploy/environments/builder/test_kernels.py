"""The kernels of the frameworks, as the launcher describes them."""

import io
import json
import re
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder.environment import PINS_FILE
from deploy.environments.builder.kernels import OF_OWN_LOCK, install_kernels, spec_dir
from deploy.environments.builder.plan import Plan
from portal.environments.command import START

FRAMEWORKS = {"tensorflow": "tensorflow-cpu", "pytorch": "torch"} | {
    name: kernel.packages[0] for name, kernel in OF_OWN_LOCK.items()
}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    plan = Plan(prefix=tmp_path)
    for name, package in FRAMEWORKS.items():
        plan.environment(name).mkdir(parents=True)
        (plan.environment(name) / PINS_FILE).write_text(f"{package}==2.21.0\n")
    install_kernels(plan, io.StringIO(), *FRAMEWORKS)
    return plan


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_has_the_logo_of_its_templates(plan: Plan, name: str) -> None:
    icons = (plan.source_dir / "portal/server/labextension_src/src/base/icon.ts").read_text()
    tile = re.search(rf"^  {name}: \{{ letters: '(\w+)', color: '(#\w+)' \}}", icons, re.MULTILINE)
    assert tile

    folder = spec_dir(plan, name)

    logo = (folder / "logo-svg.svg").read_text()
    assert all(part in logo for part in tile.groups())
    # Python's logo in another size would be taken where an SVG is not.
    assert sorted(path.name for path in folder.iterdir()) == ["kernel.json", "logo-svg.svg"]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_starts_as_the_environments_of_users_do(plan: Plan, name: str) -> None:
    spec = json.loads((spec_dir(plan, name) / "kernel.json").read_text())

    assert f"{plan.environment('server')}/library/{START}/kernel.py" in spec["argv"]
    assert spec["display_name"].endswith(" 2.21")
    assert spec["metadata"]["packages_release"] == f"2.21-py{plan.python_release}"


def test_an_environment_without_its_framework_is_named(plan: Plan) -> None:
    (plan.environment("pytorch") / PINS_FILE).write_text("numpy==2.4.6\n")

    with pytest.raises(DeployError, match=r"pytorch has no torch\."):
        install_kernels(plan, io.StringIO(), "pytorch")
