"""What a user can change about a request, as the next step of a diagnosis names it.

A table's text such as "{retry|fewer_gpus|no_type}." lists the changes that would help. Those that
this user cannot make, such as fewer GPUs than one, are left out; if none is left, only the
administrators can help.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsportal.diagnosis.messages import Situation

_ADVICE = re.compile(r"\{([a-z_]+)\|([a-z_|]+)\}")

_CHANGES = {
    "fewer_gpus": "with fewer GPUs",
    "fewer_hours": "with fewer hours",
    "fewer_hours_to_end_before": "with fewer hours, so that it ends before then",
    "no_type": "without a GPU type",
    "other_type": "with another GPU type",
    "other_partition": "in another partition",
}
# What a choice on the form names, after "choose".
_CHOICES = {
    "other_account": "another account",
    "other_partition": "another partition",
    "other_qos": "another QOS",
}
_ASK = "ask the administrators"
# The shortest length that the form offers.
_SHORTEST_S = 3600


def fill_advice(text: str, situation: Situation) -> str:
    """Return a next step with the changes that a user can make.

    Args:
        text: A next step; other names in braces are left as they are.
        situation: Says what the user asked for and can choose; what is not known is possible.
    """
    filled = _ADVICE.sub(
        lambda found: _form(found[1], _possible(found[2].split("|"), situation)), text
    )
    return filled[:1].upper() + filled[1:]


def can_shorten(situation: Situation) -> bool:
    """Return whether the form offers a shorter session."""
    return situation.walltime_s is None or situation.walltime_s > _SHORTEST_S


def can_ask_for_fewer_gpus(situation: Situation) -> bool:
    """Return whether a session with fewer GPUs would still have one."""
    return situation.n_gpus is None or situation.n_gpus > 1


def _possible(changes: Sequence[str], situation: Situation) -> list[str]:
    is_possible = {
        "fewer_gpus": can_ask_for_fewer_gpus(situation),
        "fewer_hours": can_shorten(situation),
        "fewer_hours_to_end_before": can_shorten(situation),
        "no_type": situation.gpu_type != "",
        "other_type": situation.has_other_gpu_type is not False,
        "other_partition": situation.has_other_partition is not False,
    }
    return [change for change in changes if is_possible.get(change, True)]


def _form(verb: str, changes: Sequence[str]) -> str:
    if verb == "sooner":
        how = _join([_CHANGES[change] for change in changes])
        return f" A {{session}} {how} often starts earlier." if changes else ""
    if verb in {"choose", "or_choose"}:
        what = " or ".join(_CHOICES[change] for change in changes)
        if verb == "or_choose":
            return f", or choose {what}" if changes else ""
        return f"choose {what}, or {_ASK}" if changes else _ASK
    if verb == "or_again":
        how = _join([_CHANGES[change] for change in changes])
        return f", or {{start_again}} {how}" if changes else ""
    if changes:
        return f"{{{verb}}} {_join([_CHANGES[change] for change in changes])}"
    return f"{{cancel}} and {_ASK}" if verb == "retry" else _ASK


def _join(changes: Sequence[str]) -> str:
    """Return "with fewer GPUs, fewer hours or in another partition"."""
    words = list(changes[:1])
    for before, change in itertools.pairwise(changes):
        preposition = change.split()[0]
        is_same = before.startswith(f"{preposition} ")
        words.append(change.removeprefix(f"{preposition} ") if is_same else change)
    return " or ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)
