"""The spawner's part for forms and REST: what is offered, and what the user asked for."""

from collections.abc import Iterator, Mapping
from typing import Any

from batchspawner import SlurmSpawner
from jupyterhub.apihandlers.users import UserServerAPIHandler
from traitlets import default

from dsportal.slurm.errors import OptionsError, PortalError
from spawner.hub.cluster_offer import ClusterOffer
from spawner.options.job_options import parse_cluster
from spawner.options.request import SessionRequest, normal_form
from spawner.options.traits import SiteTraits, traits_on
from spawner.session.cluster import Cluster
from spawner.session.clusters import shared_cluster
from spawner.session.database import SpawnerDatabase
from spawner.session.session import Session
from spawner.session.spawn_error import StartFailedError


class OptionsMixin(SiteTraits, SlurmSpawner):
    """Knows the clusters and checks users' options against them."""

    _request: SessionRequest

    @property
    def session(self) -> Session | None:
        """The session that starts or runs; None if there is none."""

    @property
    def cluster(self) -> Cluster:
        """The cluster of the session; without one the first cluster."""
        session = self.session
        return self.cluster_named(session.cluster if session is not None else "")

    def cluster_named(self, name: str) -> Cluster:
        """Return one of the hub's clusters; the name of the first one is empty."""
        known_ids = self._rows.read_ids
        return shared_cluster(
            self.user.settings, self, name=name, known_ids=known_ids, log=self.log
        )

    def all_clusters(self) -> Iterator[Cluster]:
        """Yield the hub's clusters, the first one first."""
        return (self.cluster_named(name) for name in ("", *self.clusters))

    @property
    def most_gpus(self) -> int | None:
        """GPUs of the largest session that the user can have, where the last one was asked for."""
        return self.on(self.offered_cluster(self.user_options.get("cluster"))).most_gpus

    def offered_cluster(self, name: object) -> str:
        """Return the name of a cluster that the site offers; any other is the first one's, ""."""
        return name if isinstance(name, str) and name in self.clusters else ""

    def on(self, cluster: str) -> ClusterOffer:
        """Return what the user may ask of a cluster; the name of the first one is empty.

        Raises:
            OptionsError: If the site has no such cluster.
        """
        if cluster and cluster not in self.clusters:
            choice = f", or choose from {', '.join(self.clusters)}" if self.clusters else ""
            raise OptionsError(
                f"You asked for the cluster {cluster}, which this site does not offer. "
                f"Leave the option out{choice}."
            )
        return ClusterOffer(
            cluster=self.cluster_named(cluster),
            traits=traits_on(self, cluster),
            user=self.user.name,
            groups=tuple(group.name for group in self.user.groups),
        )

    def besides(self, cluster: str) -> list[ClusterOffer]:
        """Return what the user may ask of each cluster but this one."""
        return [self.on(name) for name in ("", *self.clusters) if name != cluster]

    @default("options_from_form")
    def _options_from_form_default(self) -> Any:
        return normal_form

    @default("apply_user_options")
    def _apply_user_options_default(self) -> Any:
        return _take_options

    async def take_options(self, user_options: Mapping[str, object]) -> None:
        """Check and keep the user's options; form and REST both come here."""
        handler = self.handler
        is_rest = isinstance(handler, UserServerAPIHandler)
        if is_rest and not _has_options(handler):
            # JupyterHub would repeat the last options; ours are the site's default.
            user_options = {}
        try:
            self._request = await self.on(parse_cluster(user_options)).check(user_options)
        except PortalError as error:
            raise StartFailedError(error) from error
        self.user_options = normal_form(user_options)
        await self._rows.wait_for_lock()
        self._rows.save_options(self.user_options)

    @property
    def _rows(self) -> SpawnerDatabase:
        return SpawnerDatabase(self.orm_spawner)


def _has_options(handler: UserServerAPIHandler) -> bool:
    # JupyterHub 5 takes the whole body for the options.
    if not hasattr(handler, "get_server_json_body"):
        return handler.get_json_body() is not None
    return handler.get_server_json_body()["user_options"] is not None


async def _take_options(spawner: OptionsMixin, user_options: Mapping[str, object]) -> None:
    await spawner.take_options(user_options)
