"""The part of the spawner that gives the server on the node its variables and certificates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyterhub.spawner import Spawner
from traitlets import default

from spawner.certificates import names_of_nodes, place_certificates
from spawner.choosing import ChoosingSpawner


class EquippingSpawner(ChoosingSpawner):
    """A spawner that knows what a server needs to talk to its hub."""

    def get_env(self) -> dict[str, str]:
        """Return the variables of the server; the launcher adds those of a login."""
        # batchspawner's own method asks the name service for the user, in the event loop.
        environment: dict[str, str] = Spawner.get_env(self)
        environment.pop("JPY_API_TOKEN", None)
        environment["PORTAL_PORT_MIN"] = str(self.port_min)
        environment["PORTAL_PORT_MAX"] = str(self.port_max)
        environment["PORTAL_ANY_PORT"] = str(int(self.any_port))
        return {name: str(value) for name, value in environment.items()}

    async def move_certs(self, paths: Mapping[str, str]) -> dict[str, str]:
        """Place the certificates of internal TLS where the user's server can read them.

        Args:
            paths: Files of the hub by "keyfile", "certfile" and "cafile".

        Returns:
            The same files in a folder that only the user can read, one folder for each server.
        """
        slurm = self.cluster.slurm
        return await place_certificates(slurm, self.user.name, self.name, paths)

    @default("ssl_alt_names")
    def _ssl_alt_names_default(self) -> Any:
        return _read_names_of_nodes


async def _read_names_of_nodes(spawner: EquippingSpawner) -> list[str]:
    return names_of_nodes(await spawner.read_catalog())
