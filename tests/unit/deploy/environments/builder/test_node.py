"""Node.js and npm: which npm belongs to which node."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.environments.builder.node import npm_program


@pytest.fixture
def node(tmp_path: Path) -> Path:
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name in ("node", "npm"):
        (bin_dir / name).touch()
    return bin_dir / "node"


def test_npm_is_the_one_that_finds_its_own_modules(node: Path) -> None:
    own = node.parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    own.parent.mkdir(parents=True)
    own.touch()

    assert npm_program(node) == own


def test_a_node_of_debian_has_its_npm_beside_it(node: Path) -> None:
    assert npm_program(node) == node.with_name("npm")
