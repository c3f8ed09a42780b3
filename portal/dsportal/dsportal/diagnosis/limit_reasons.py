"""Says why one of Slurm's limits holds a job back, and what its user can do."""

from dsportal.amounts import count, format_duration
from dsportal.diagnosis.advice import can_ask_for_fewer_gpus, can_shorten
from dsportal.diagnosis.limit import RESOURCES, Limit
from dsportal.diagnosis.messages import Diagnosis, Situation

_RAISE = "Ask the administrators to raise the limit."
# A session gets cores and memory with its GPUs, so these shrink and grow with them.
_COMES_WITH_GPUS = frozenset({"billing", "cpu", "gres", "mem", "memory", "tres"})


def explain_limit(limit: Limit, situation: Situation, *, is_refused: bool = False) -> Diagnosis:
    """Return what a limit means for a session.

    Args:
        is_refused: Whether Slurm did not accept the job at all, so that waiting does not help.
    """
    if limit.is_minimum:
        less = "fewer" if _noun(limit).endswith("s") else "less"
        return Diagnosis(
            sentence=f"The {situation.subject.noun} asks for {less} {_noun(limit)} than your "
            "quality of service (QOS) requires.",
            next_step=f"{_again(situation, is_refused)} with more GPUs."
            if limit.resource in _COMES_WITH_GPUS
            else "Ask the administrators which QOS to use.",
        )
    if limit.per in {"job", "node"}:
        return _explain_size(limit, situation, is_refused=is_refused)
    if limit.minutes:
        return _explain_minutes(limit, situation, is_refused=is_refused)
    is_shared = limit.per in {"group", "account"} and not situation.is_own_limit
    if is_shared and not _exceeds_alone(limit, situation):
        return _explain_shared(limit, situation, is_refused=is_refused)
    return _explain_own(limit, situation, is_refused=is_refused)


def _explain_size(limit: Limit, situation: Situation, *, is_refused: bool) -> Diagnosis:
    noun = situation.subject.noun
    # It is larger than one may be, so waiting never helps.
    if limit.resource.startswith("wall"):
        longest = ""
        if situation.max_walltime_s is not None:
            longest = f", which is {format_duration(situation.max_walltime_s)}"
        return Diagnosis(
            sentence=f"The {noun} asks for more time than one {noun} may have{longest}.",
            next_step=_shorter(situation, is_refused=is_refused),
        )
    where = " on a node" if limit.per == "node" else ""
    return Diagnosis(
        sentence=_numbers(limit, situation)
        or f"The {noun} asks for more {_noun(limit)}{where} than one {noun} may have.",
        next_step=_shorter(situation, is_refused=is_refused)
        if limit.minutes
        else _fewer(limit, situation, is_refused=is_refused),
    )


def _explain_minutes(limit: Limit, situation: Situation, *, is_refused: bool) -> Diagnosis:
    if limit.minutes == "ahead":
        jobs = "Your running jobs" if limit.owner == "you" else f"The running jobs of {limit.owner}"
        return Diagnosis(
            sentence=f"{jobs} have already reserved all the {_noun(limit)} that they may use.",
            next_step=_wait_for("some of them", situation)
            if is_refused
            else f"{_by_itself(situation)} as they run on.",
        )
    return Diagnosis(
        sentence=f"You have not enough {_noun(limit)} left for this {situation.subject.noun}."
        if limit.owner == "you"
        else f"{_sentence(limit.owner)} has not enough {_noun(limit)} left for this "
        f"{situation.subject.noun}.",
        next_step=f"{_again(situation, is_refused)} with fewer hours, or ask the administrators "
        "when the budget is renewed.",
    )


def _explain_shared(limit: Limit, situation: Situation, *, is_refused: bool) -> Diagnosis:
    sentence = f"All jobs of {limit.owner} together have reached the limit on {_noun(limit)}."
    if limit.resource == "gres" and situation.n_gpus_limit is not None:
        sentence = (
            f"All jobs of {limit.owner} together may hold {count(situation.n_gpus_limit, 'GPU')} "
            "at a time, and that limit is reached."
        )
    return Diagnosis(
        sentence=sentence,
        next_step=_wait_for("some of these jobs", situation)
        if is_refused
        else f"{_by_itself(situation)} when enough of them end.",
    )


def _explain_own(limit: Limit, situation: Situation, *, is_refused: bool) -> Diagnosis:
    if _exceeds_alone(limit, situation):
        return Diagnosis(
            sentence=_numbers(limit, situation),
            next_step=_fewer(limit, situation, is_refused=is_refused),
        )
    start_again = situation.subject.words["start_again"]
    return Diagnosis(
        sentence=_numbers(limit, situation) or f"You have reached your limit on {_noun(limit)}.",
        next_step=f"Stop another of your sessions or jobs, then {start_again}."
        if is_refused
        else "Stop another of your sessions or jobs. "
        f"This {situation.subject.noun} then starts by itself.",
    )


def _numbers(limit: Limit, situation: Situation) -> str:
    """Return the sentence with the numbers of GPUs, or "" if they are not known."""
    if limit.resource != "gres" or limit.minutes or situation.n_gpus_limit is None:
        return ""
    limit_text = f"the limit is {count(situation.n_gpus_limit, 'GPU')}"
    if limit.per in {"job", "node"} or _exceeds_alone(limit, situation):
        asked = (
            ""
            if situation.n_gpus is None
            else f"You asked for {count(situation.n_gpus, 'GPU')}, but "
        )
        scope = (
            f" in one {situation.subject.noun}" if limit.per in {"job", "node"} else " at a time"
        )
        return _sentence(f"{asked}{limit_text}{scope}.")
    if situation.n_gpus_held is None:
        return f"You hold as many GPUs as you may: {limit_text} at a time."
    asked = "" if situation.n_gpus is None else f" and ask for {situation.n_gpus} more"
    return f"You hold {count(situation.n_gpus_held, 'GPU')}{asked}, but {limit_text} at a time."


def _exceeds_alone(limit: Limit, situation: Situation) -> bool:
    return (
        limit.resource == "gres"
        and not limit.minutes
        and situation.n_gpus is not None
        and situation.n_gpus_limit is not None
        and situation.n_gpus > situation.n_gpus_limit
    )


def _shorter(situation: Situation, *, is_refused: bool) -> str:
    if not can_shorten(situation):
        return _RAISE
    return f"{_again(situation, is_refused)} with fewer hours."


def _fewer(limit: Limit, situation: Situation, *, is_refused: bool) -> str:
    if limit.resource not in _COMES_WITH_GPUS:
        return _RAISE
    if limit.resource == "gres" and situation.n_gpus_limit is not None:
        most = situation.n_gpus_limit
        if most < 1:
            return _RAISE
        choice = count(most, "GPU") + " or fewer" * (most > 1)
        return f"{_again(situation, is_refused)} with {choice}."
    if not can_ask_for_fewer_gpus(situation):
        return _RAISE
    return f"{_again(situation, is_refused)} with fewer GPUs."


def _again(situation: Situation, is_refused: bool) -> str:
    return situation.subject.again if is_refused else situation.subject.retry


def _wait_for(jobs: str, situation: Situation) -> str:
    return f"Wait until {jobs} end, then {situation.subject.words['start_again']}."


def _by_itself(situation: Situation) -> str:
    return f"No action is needed: the {situation.subject.noun} starts by itself"


def _noun(limit: Limit) -> str:
    at_a_time, over_time = RESOURCES[limit.resource]
    return over_time if limit.minutes else at_a_time


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
