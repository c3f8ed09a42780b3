"""A form with nothing left to choose: what a link asks for, and a button."""

from collections.abc import Mapping
from dataclasses import dataclass

from dsportal.amounts import format_duration
from dsportal.slurm.errors import OptionsError
from portal.hub.form.view import FormView, format_options
from spawner.options.job_options import JobOptions
from spawner.options.option_table import OPTIONS
from spawner.options.request import describe_gpus

# In the query of a link.
FIXED = "fixed"
_SAID_FIRST = ("gpus", "hours")


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedChoice:
    """What the link asks for.

    Attributes:
        sentence: What the button starts.
        details: Label and value of each further option.
        options: What the form sends, by option.
        problem: Why the user cannot have it, so that the whole form is shown; "" if they can.
    """

    sentence: str
    details: tuple[tuple[str, str], ...]
    options: Mapping[str, str]
    problem: str


def describe_fixed(view: FormView, wanted: Mapping[str, object], *, simulated: bool) -> FixedChoice:
    """Return the choice of a link: `wanted`, of which `view` marks what is offered."""
    chosen = JobOptions.parse(view.chosen)
    gpus = describe_gpus(chosen.n_gpus, are_simulated=simulated)
    hours = f" for {format_duration(chosen.walltime_s)}" if chosen.walltime_s else ""
    return FixedChoice(
        sentence=f"The button starts a session with {gpus}{hours}.",
        details=tuple(
            (OPTIONS[key].label, value)
            for key, value in view.chosen.items()
            if key not in _SAID_FIRST
        ),
        options=view.chosen,
        problem=_why_not(view, wanted),
    )


def _why_not(view: FormView, wanted: Mapping[str, object]) -> str:
    try:
        parsed = JobOptions.parse(wanted)
    except OptionsError as error:
        return error.message
    asked = format_options(parsed, parsed.n_gpus)
    for key, value in asked.items():
        if view.chosen.get(key) != value:
            return (
                f"The link asks for {OPTIONS[key].label} {value}, which you cannot have. Choose"
                " something else here, or ask whoever gave you the link."
            )
    marked = (item for field in (*view.fields, *view.advanced) for item in field.items)
    refusals = [item.refusal for item in marked if item.is_chosen and item.refusal]
    return next(iter(refusals), view.refusal(view.chosen_gpus))
