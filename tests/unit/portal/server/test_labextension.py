"""The built extension is whole, and all of it is shipped."""

import json
from pathlib import Path
from typing import Any

import pytest

PORTAL_SERVER = Path(__file__).parents[4] / "portal" / "server"
SOURCES = PORTAL_SERVER / "labextension_src"
BUILT = PORTAL_SERVER / "labextension"


@pytest.fixture(scope="module")
def metadata() -> dict[str, Any]:
    return dict(json.loads((BUILT / "package.json").read_text()))


def test_the_entry_that_jupyterlab_loads_is_there(
    metadata: dict[str, Any],
) -> None:
    assert (BUILT / metadata["jupyterlab"]["_build"]["load"]).is_file()


def test_no_registry_is_named() -> None:
    texts = [path.read_text() for path in (*SOURCES.glob("package*.json"), *BUILT.rglob("*.json"))]

    assert [text for text in texts if "registry." in text or "resolved" in text] == []
