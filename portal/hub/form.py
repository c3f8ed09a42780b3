"""The form on which a user chooses GPUs; it also says so when Slurm does not answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from jinja2 import Environment, FileSystemLoader

from portal.hub.offer import make_offer
from portal.hub.pages import TEMPLATES_DIR
from portal.hub.words import format_clock
from spawner.errors import OptionsError, SlurmError
from spawner.options import JobOptions

TEMPLATE = "options_form.html"


class OptionsForm:
    """Callable that JupyterHub asks for the form of a spawner.

    Args:
        simulated_gpus: Whether the form calls the GPUs simulated.
        clock: Returns the present in the site's time zone.
    """

    def __init__(
        self, *, simulated_gpus: bool, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._simulated_gpus = simulated_gpus
        self._clock = clock or (lambda: datetime.now().astimezone())
        self._last_answer: datetime | None = None
        environment = Environment(loader=FileSystemLoader(TEMPLATES_DIR), autoescape=True)
        self._template = environment.get_template(TEMPLATE)

    async def __call__(self, spawner: Any) -> str:
        """Return the inner part of the form.

        Args:
            spawner: The spawner that would start the session.

        Returns:
            HTML with the field `gpus` and the button, or with the reason why there is none.
        """
        again_url = f"/hub/spawn/{spawner.user.escaped_name}"
        try:
            catalog = await spawner.read_catalog()
        except SlurmError as error:
            return self._template.render(
                problem=error.message, last_answer=self._describe_last_answer(), again_url=again_url
            )
        self._last_answer = self._clock()
        return self._template.render(
            offer=make_offer(
                catalog,
                shape=spawner.shape,
                limits=spawner.limits,
                n_gpus_wanted=_last_n_gpus(spawner.user_options),
            ),
            simulated=self._simulated_gpus,
            again_url=again_url,
        )

    def _describe_last_answer(self) -> str:
        if self._last_answer is None:
            return "It has not answered since the portal was started."
        return f"Its last answer came {format_clock(self._last_answer, self._clock())}."


def _last_n_gpus(user_options: Mapping[str, object]) -> int:
    try:
        return JobOptions.parse(user_options).n_gpus
    except OptionsError:
        return 1
