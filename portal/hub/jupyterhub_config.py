"""JupyterHub's configuration file: applies portal.toml and sets nothing of its own."""

import os
import sys
from pathlib import Path

from portal.hub.apply import apply_settings
from portal.hub.settings.loader import load_settings
from spawner.errors import SettingsError
from spawner.installed_paths import DEFAULT_SETTINGS_PATH

path = Path(os.environ.get("PORTAL_TOML", DEFAULT_SETTINGS_PATH))
try:
    apply_settings(get_config(), load_settings(path))  # type: ignore[name-defined]  # noqa: F821
except SettingsError as error:
    # A mistake in portal.toml ends the start with one sentence, not with a traceback.
    sys.exit(f"jupyterhub: {error}")
