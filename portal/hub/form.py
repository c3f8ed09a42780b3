"""The form on which a user chooses GPUs; it also says so when Slurm does not answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from jinja2 import Environment, FileSystemLoader

from portal.hub.offer import make_offer
from portal.hub.pages import TEMPLATES_DIR
from portal.hub.words import format_clock
from spawner.catalog import Catalog
from spawner.errors import OptionsError, PortalError
from spawner.options import JobOptions
from spawner.request import shape_of
from spawner.shape import Shape

TEMPLATE = "options_form.html"


def make_options_form(
    *, simulated_gpus: bool, clock: Callable[[], datetime] | None = None
) -> Callable[[Any], Awaitable[str]]:
    """Return the function that JupyterHub asks for the form of a spawner.

    Traitlets copies whatever an option holds for each spawner, but not functions: only so is the
    time of Slurm's last answer known to all.

    Args:
        simulated_gpus: Whether the form calls the GPUs simulated.
        clock: Returns the present in the site's time zone.

    Returns:
        An async function from a spawner to HTML.
    """
    form = _Form(simulated_gpus, clock or (lambda: datetime.now().astimezone()))

    async def options_form(spawner: Any) -> str:
        return await form.render(spawner)

    return options_form


class _Form:
    def __init__(self, simulated_gpus: bool, clock: Callable[[], datetime]) -> None:
        self._simulated_gpus = simulated_gpus
        self._clock = clock
        self._last_answer: datetime | None = None
        environment = Environment(loader=FileSystemLoader(TEMPLATES_DIR), autoescape=True)
        self._template = environment.get_template(TEMPLATE)

    async def render(self, spawner: Any) -> str:
        """Return the field `gpus` and the button, or the reason why there is none."""
        again_url = f"/hub/spawn/{spawner.user.escaped_name}"
        try:
            catalog = await spawner.read_catalog()
            offer = make_offer(
                catalog,
                shape_for=partial(_shape_for, spawner, catalog),
                limits=spawner.limits,
                n_gpus_wanted=_last_n_gpus(spawner.user_options),
            )
        except PortalError as error:
            return self._template.render(
                problem=error.message, last_answer=self._describe_last_answer(), again_url=again_url
            )
        self._last_answer = self._clock()
        return self._template.render(
            offer=offer, simulated=self._simulated_gpus, again_url=again_url
        )

    def _describe_last_answer(self) -> str:
        if self._last_answer is None:
            return "Slurm has not answered since the portal was started."
        return f"Slurm's last answer came {format_clock(self._last_answer, self._clock())}."


def _shape_for(spawner: Any, catalog: Catalog, n_gpus: int, partition: str | None) -> Shape:
    return shape_of(spawner, catalog, n_gpus=n_gpus, partition=partition)


def _last_n_gpus(user_options: Mapping[str, object]) -> int:
    try:
        return JobOptions.parse(user_options).n_gpus
    except OptionsError:
        return 1
