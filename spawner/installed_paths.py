"""Paths of an installation, which traits and keys of portal.toml have as defaults."""

from pathlib import Path

SERVER_ENVIRONMENT = "/opt/data-scientist-portal/environments/server"
# In the environment of the notebook server; the job starts it.
SERVER_PROGRAM = "bin/dsportal-singleuser"
# As the sudoers file names them.
LAUNCHER = "/opt/data-scientist-portal/libexec/dsportal-launcher"
EXTENDER = "/opt/data-scientist-portal/libexec/dsportal-extender"
DEFAULT_SETTINGS_PATH = Path("/etc/data-scientist-portal/portal.toml")
