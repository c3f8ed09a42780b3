from __future__ import annotations

from pathlib import Path

import pytest

from portal.environments.command import Node, kernel_spec
from portal.environments.entry import parse_entry
from portal.environments.probe import probe_node


@pytest.mark.parametrize(("session", "images"), [("{}", ""), ("/mine:{}", "/mine")])
def test_dsportal_is_in_an_image_without_hiding_the_images_own_path(
    session: str, images: str, tmp_path: Path
) -> None:
    environ = {"PORTAL_LIBRARY": str(tmp_path), "PYTHONPATH": session.format(tmp_path)}
    entry = parse_entry("ngc", {"image": "/srv/ngc.sif"}, where="environments.toml")

    node = probe_node(environ)
    spec = kernel_spec(entry, node)

    assert node.binds == (tmp_path,)
    assert f"--bind={tmp_path}" in spec["argv"]
    # Apptainer leaves an image's own PYTHONPATH in force if the session's is empty.
    assert spec["env"] == {"PYTHONPATH": images}


def test_an_entry_can_set_the_path_of_its_image() -> None:
    table = {"image": "/srv/ngc.sif", "variables": {"PYTHONPATH": "/opt/site"}}
    entry = parse_entry("ngc", table, where="environments.toml")

    assert kernel_spec(entry, Node(python_path=""))["env"] == {"PYTHONPATH": "/opt/site"}


def test_other_kernels_keep_the_sessions_path() -> None:
    entry = parse_entry("mine", {"conda": "/srv/mine"}, where="environments.toml")

    assert "PYTHONPATH" not in kernel_spec(entry, Node(python_path=""))["env"]
