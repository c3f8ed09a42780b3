"""The part of the spawner that gives the server on the node its variables."""

from __future__ import annotations

from pathlib import Path

from jupyterhub.spawner import Spawner

from spawner.certificates import AUTHORITY_VARIABLE, read_authority
from spawner.hub.options_mixin import ChoosingSpawner


class EquippingSpawner(ChoosingSpawner):
    """A spawner that knows what a server needs to talk to its hub."""

    def get_env(self) -> dict[str, str]:
        """Return the variables of the server; the launcher adds those of a login.

        Raises:
            SiteError: If the certificates of internal TLS cannot be read.
        """
        # batchspawner's own method asks the name service for the user, in the event loop.
        environment: dict[str, str] = Spawner.get_env(self)
        environment.pop("JPY_API_TOKEN", None)
        environment["PORTAL_PORT_MIN"] = str(self.port_min)
        environment["PORTAL_PORT_MAX"] = str(self.port_max)
        environment["PORTAL_ANY_PORT"] = str(int(self.any_port))
        if self.certificates_dir:
            environment[AUTHORITY_VARIABLE] = read_authority(Path(self.certificates_dir))
        return {name: str(value) for name, value in environment.items()}
