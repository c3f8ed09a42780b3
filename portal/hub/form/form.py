"""The form on which users choose GPUs, as a callable for JupyterHub; also works without Slurm."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, Template

from dsportal.amounts import count, format_duration
from dsportal.slurm.errors import PortalError
from portal.hub.form.fixed import describe_fixed
from portal.hub.form.view import FormView, describe_form
from portal.hub.formatting import format_clock, format_memory
from portal.hub.pages.base import TEMPLATES_DIR
from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.hub.cluster_offer import ClusterOffer
from spawner.hub.session_mixin import SessionMixin
from spawner.settings.rescue import RescueSettings
from spawner.settings.traits import read_traits
from spawner.slurm.catalog import Catalog

TEMPLATE = "options_form.html"
# Longer than sinfo takes on a busy cluster; a user looks at an empty page meanwhile.
_CATALOG_WAIT_S = 2.0

Clock = Callable[[], datetime]

# Options sent with the request that is being answered.
SENT_OPTIONS: ContextVar[Mapping[str, object] | None] = ContextVar("sent_options", default=None)
# Whether the address leaves nothing to choose.
IS_FIXED: ContextVar[bool] = ContextVar("is_fixed", default=False)


def local_clock() -> datetime:
    """Return the present in the time zone of this host."""
    return datetime.now().astimezone()


def make_options_form(
    *, simulated_gpus: bool, wait_s: float = 0.0, clock: Clock = local_clock
) -> Callable[[Any], Awaitable[str]]:
    """Return the async function from a spawner to HTML for JupyterHub's `options_form`.

    A function, because traitlets copies other values for each spawner: only so all spawners share
    the time of Slurm's last answer.
    """
    form = _Form(simulated_gpus, wait_s, clock)

    async def options_form(spawner: SessionMixin) -> str:
        return await form.render(spawner)

    return options_form


@cache
def load_template() -> Template:
    """Return the form's template, compiled once for all forms of the process."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES_DIR), autoescape=True)
    return environment.get_template(TEMPLATE)


class _Form:
    def __init__(self, simulated_gpus: bool, wait_s: float, clock: Clock) -> None:
        self._simulated_gpus = simulated_gpus
        self._wait_s = wait_s
        self._clock = clock
        # By cluster.
        self._answers: dict[str, tuple[Catalog, datetime]] = {}
        self._template = load_template()

    async def render(self, spawner: SessionMixin) -> str:
        """Return the fields and the button, or the reason why there are none."""
        hub_prefix = spawner.hub.base_url
        again_url = f"{hub_prefix}spawn/{spawner.user.escaped_name}"
        # A length of 0 offers no rescue session.
        if (SENT_OPTIONS.get() or {}).get("rescue") and spawner.rescue_hours:
            rescue = read_traits(spawner, RescueSettings)
            words = {
                "cores": count(rescue.rescue_cores, "core"),
                "memory": format_memory(rescue.rescue_memory_mib),
                "hours": format_duration(rescue.rescue_walltime_s),
            }
            return self._template.render(rescue=words, again_url=again_url)
        try:
            view = await self._describe(spawner)
        except PortalError as error:
            return self._template.render(
                problem=error.message,
                last_answer=self._describe_last_answer(""),
                again_url=again_url,
            )
        fixed = None
        if IS_FIXED.get() and view.offer.choices:
            fixed = describe_fixed(view, wanted_options(spawner), simulated=self._simulated_gpus)
        return self._template.render(
            view=view,
            fixed=fixed,
            simulated=self._simulated_gpus,
            again_url=again_url,
            choices_url=f"{hub_prefix}portal/choices/{spawner.user.escaped_name}",
        )

    async def _describe(self, spawner: SessionMixin) -> FormView:
        wanted = wanted_options(spawner)
        chosen = spawner.offered_cluster(wanted.get("cluster"))
        here = spawner.on(chosen)
        try:
            catalog, as_of = await self._read_catalog(here)
        except SlurmError:
            if not chosen:
                raise
            # The field of clusters says so.
            here = spawner.on("")
            catalog, as_of = await self._read_catalog(here)
        return await describe_form(
            spawner,
            here,
            catalog,
            wanted,
            now=self._clock(),
            wait_s=self._wait_s,
            as_of=as_of,
        )

    async def _read_catalog(self, here: ClusterOffer) -> tuple[Catalog, str]:
        name = here.cluster.name
        # Cancels only the wait: the answer serves the next form.
        try:
            async with asyncio.timeout(_CATALOG_WAIT_S):
                catalog = await here.read_catalog()
        except TimeoutError:
            pass
        else:
            self._answers[name] = (catalog, self._clock())
            return catalog, ""
        if name not in self._answers:
            raise SlurmUnavailableError(
                f"Slurm did not respond within {_CATALOG_WAIT_S:g} seconds. Try again in a minute."
            )
        return self._answers[name][0], self._describe_last_answer(name)

    def _describe_last_answer(self, cluster: str) -> str:
        if cluster not in self._answers:
            return "Slurm has not responded since the portal was started."
        answered_at = self._answers[cluster][1]
        return f"Slurm last responded {format_clock(answered_at, self._clock())}."


def wanted_options(spawner: SessionMixin) -> Mapping[str, object]:
    """Return what the form of a spawner should mark.

    Returns:
        Options of the request being answered, or of the user's last start.
    """
    last: Mapping[str, object] = spawner.user_options
    # After a refused request the form keeps what was sent.
    return SENT_OPTIONS.get() or last
