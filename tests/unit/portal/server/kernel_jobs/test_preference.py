"""The user's setting of whether variables come along."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.server.kernel_jobs.preference import read_preference
from portal.server.kernel_jobs.request import Variables
from tests.support.checkout import CHECKOUT

PLUGIN = "data-scientist-portal:kernel-gpus"


@pytest.fixture
def server(tmp_path: Path) -> Any:
    """A notebook server with the portal's labextension and a user's settings."""
    (tmp_path / "extensions").mkdir()
    (tmp_path / "extensions/data-scientist-portal").symlink_to(
        CHECKOUT / "portal/server/labextension"
    )
    lab = SimpleNamespace(
        app_settings_dir=str(tmp_path / "site"),
        schemas_dir=str(tmp_path / "schemas"),
        user_settings_dir=str(tmp_path / "user"),
        extra_labextensions_path=[],
        labextensions_path=[str(tmp_path / "extensions")],
    )
    manager = SimpleNamespace(extension_apps={"jupyterlab": [lab]})
    return SimpleNamespace(extension_manager=manager)


def write_user(folder: Path, text: str) -> None:
    file = folder / "user/data-scientist-portal/kernel-gpus.jupyterlab-settings"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def test_who_has_chosen_nothing_has_what_the_site_says(server: Any, tmp_path: Path) -> None:
    assert read_preference(server) is Variables.ALWAYS

    (tmp_path / "site").mkdir()
    overrides = {PLUGIN: {"variables": "ask"}}
    (tmp_path / "site/overrides.json").write_text(json.dumps(overrides))
    assert read_preference(server) is Variables.ASK


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ('// mine\n{"variables": "never"}', Variables.NEVER),
        ('{"variables": "sometimes"}', Variables.ALWAYS),
        ('{"variables": ', Variables.ALWAYS),
    ],
)
def test_a_file_counts_as_far_as_jupyterlab_can_read_it(
    server: Any, tmp_path: Path, text: str, variables: Variables
) -> None:
    write_user(tmp_path, text)

    assert read_preference(server) is variables
