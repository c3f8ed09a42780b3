from __future__ import annotations

from pathlib import Path

import pytest

from portal.hub.settings.loader import Settings, load_settings

TOML = """
[hub]
address = "10.77.0.1"

[login]
servers = ["ldap://127.0.0.1:389"]
ca_certificates = "/etc/data-scientist-portal/ldap-ca.pem"
user_dn_template = "uid={username},ou=people,dc=portal,dc=example"

[choices]
gpu_types = ["v100"]

[partitions.jupyter]
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of a small site."""
    path = tmp_path / "portal.toml"
    path.write_text(TOML)
    return load_settings(path)
