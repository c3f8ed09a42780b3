"""Settings of a small site, as fixtures of the tests that read portal.toml."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from portal.hub.settings.loader import Settings, load_settings

MINIMAL = """
[hub]
address = "10.77.0.1"

[login]
servers = ["ldap://127.0.0.1:389"]
ca_certificates = "/etc/data-scientist-portal/ldap-ca.pem"
user_dn_template = ["uid={username},ou=people,dc=portal,dc=example"]

[partitions.jupyter]
"""

WITH_GPU_TYPE = f'{MINIMAL}\n[choices]\ngpu_types = ["v100"]\n'


@pytest.fixture
def minimal_toml() -> str:
    """Return the smallest file that is accepted."""
    return MINIMAL


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Settings]:
    """Return a function that loads settings from text."""

    def load_text(text: str) -> Settings:
        path = tmp_path / "portal.toml"
        path.write_text(text)
        settings = load_settings(path)
        if "state_dir" in text:
            return settings
        # Not that of a portal on this machine.
        return replace(settings, hub=replace(settings.hub, state_dir=tmp_path / "hub"))

    return load_text


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of a small site."""
    path = tmp_path / "portal.toml"
    path.write_text(WITH_GPU_TYPE)
    return load_settings(path)
