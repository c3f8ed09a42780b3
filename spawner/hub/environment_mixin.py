"""The spawner's part that sets the environment of the server on the node."""

from __future__ import annotations

import json
from pathlib import Path

from jupyterhub.spawner import Spawner

from spawner.certificates import AUTHORITY_VARIABLE, read_authority
from spawner.hub.options_mixin import OptionsMixin
from spawner.session_settings import VARIABLE, plain_table
from spawner.settings.resources import ResourceSettings
from spawner.settings.traits import read_traits


class EnvironmentMixin(OptionsMixin):
    """Adds the variables that a session's server needs to reach its hub."""

    def get_env(self) -> dict[str, str]:
        """Return the server's environment; the launcher adds the variables of a login."""
        # batchspawner's own method asks the name service for the user, in the event loop.
        environment: dict[str, str] = Spawner.get_env(self)
        # The deprecated name of JUPYTERHUB_API_TOKEN.
        environment.pop("JPY_API_TOKEN", None)
        resources = plain_table(read_traits(self, ResourceSettings))
        environment[VARIABLE] = json.dumps({"resources": resources, **self.session_settings})
        if self.certificates_dir:
            environment[AUTHORITY_VARIABLE] = read_authority(Path(self.certificates_dir))
        # The launcher refuses a value that is not a text.
        return {name: str(value) for name, value in environment.items()}
