"""The built extension is what its sources say, and all of it is shipped."""

from __future__ import annotations

import configparser
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

PORTAL_SERVER = Path(__file__).parents[4] / "portal" / "server"
SOURCES = PORTAL_SERVER / "labextension_src"
BUILT = PORTAL_SERVER / "labextension"


def source_names() -> list[str]:
    names = ["package.json", "tsconfig.json"]
    for folder in ("schema", "src"):
        names += [f"{folder}/{path.name}" for path in (SOURCES / folder).iterdir()]
    return sorted(names)


def sources_sha256() -> str:
    """Do what stamp.mjs does after each build."""
    hashed = hashlib.sha256()
    for name in source_names():
        hashed.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    return hashed.hexdigest()


@pytest.fixture(scope="module")
def metadata() -> dict[str, Any]:
    return dict(json.loads((BUILT / "package.json").read_text()))


def test_the_build_is_of_these_sources(metadata: dict[str, Any]) -> None:
    assert metadata["sourcesSha256"] == sources_sha256(), "build again: labextension_src/README.md"


def test_the_entry_that_jupyterlab_loads_is_there(
    metadata: dict[str, Any],
) -> None:
    assert (BUILT / metadata["jupyterlab"]["_build"]["load"]).is_file()


def test_every_built_file_is_in_the_package() -> None:
    setup = configparser.ConfigParser()
    setup.read(PORTAL_SERVER.parents[1] / "setup.cfg")
    patterns = setup["options.package_data"]["portal.server"].split()
    shipped = {path for pattern in patterns for path in PORTAL_SERVER.glob(pattern)}

    built = {path for path in BUILT.rglob("*") if path.is_file()}

    assert len(built) >= 4
    assert built <= shipped
    assert PORTAL_SERVER / "config/portal.json" in shipped


def test_no_registry_is_named() -> None:
    texts = [(SOURCES / name).read_text() for name in source_names()]
    texts += [path.read_text() for path in BUILT.rglob("*.json")]

    assert [text for text in texts if "registry" in text or "resolved" in text] == []
