"""The kernels of the frameworks, as the launcher describes them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from deploy.environments.builder.environment import PINS_FILE
from deploy.environments.builder.kernels import install_kernels, install_mxnet, spec_dir
from deploy.environments.builder.plan import Plan
from portal.environments.command import START


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    plan = Plan(prefix=tmp_path)
    pins = {"tensorflow": "tensorflow-cpu==2.21.0", "pytorch": "torch==2.13.0", "mxnet": "mxnet==1"}
    for name, pin in pins.items():
        plan.environment(name).mkdir(parents=True)
        (plan.environment(name) / PINS_FILE).write_text(f"{pin}\n")
    install_kernels(plan, io.StringIO())
    install_mxnet(plan)
    return plan


@pytest.mark.parametrize("name", ["tensorflow", "pytorch", "mxnet"])
def test_a_framework_has_the_logo_of_its_templates(plan: Plan, name: str) -> None:
    icons = (plan.source_dir / "portal/server/labextension_src/src/base/icon.ts").read_text()
    tile = re.search(rf"^  {name}: \{{ letters: '(\w+)', color: '(#\w+)' \}}", icons, re.MULTILINE)
    assert tile

    folder = spec_dir(plan, name)

    logo = (folder / "logo-svg.svg").read_text()
    assert all(part in logo for part in tile.groups())
    # Python's logo in another size would be taken where an SVG is not.
    assert sorted(path.name for path in folder.iterdir()) == ["kernel.json", "logo-svg.svg"]


@pytest.mark.parametrize("name", ["tensorflow", "pytorch", "mxnet"])
def test_a_framework_starts_as_the_environments_of_users_do(plan: Plan, name: str) -> None:
    spec = json.loads((spec_dir(plan, name) / "kernel.json").read_text())

    assert f"{plan.environment('server')}/library/{START}/kernel.py" in spec["argv"]
