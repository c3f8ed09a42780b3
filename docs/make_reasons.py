"""Write docs/reference/reasons.md from the tables that the portal itself uses.

Run it from the root of the repository after a change of words:

    python docs/make_reasons.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

DOCS_DIR = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS_DIR.parent / "portal/dsportal"))
sys.path.insert(0, str(DOCS_DIR.parent))

from dsportal.diagnosis import explain_end, explain_waiting  # noqa: E402
from dsportal.diagnosis.ended import BUDGET, CANCELLED_BY, END_REASONS  # noqa: E402
from dsportal.diagnosis.limit_reasons import parse_limit  # noqa: E402
from dsportal.diagnosis.messages import Diagnosis, Situation, diagnose  # noqa: E402
from dsportal.diagnosis.pending import WAITING_STATES  # noqa: E402
from dsportal.diagnosis.rejected_texts import REJECTIONS  # noqa: E402
from dsportal.slurm.states import JobState, Phase  # noqa: E402

_TOP = """\
# What Slurm says, and what the portal makes of it

Made by `docs/make_reasons.py` from the tables in `spawner/`; do not edit it by hand.

A session is a Slurm job. When it waits, ends or is refused, Slurm says why in one word. The portal
shows a sentence and one next step instead. Where it knows numbers, such as the GPUs that you hold
and your limit, it puts them in. A word that is not in these tables is shown as it is.

"The administrators" are those of your cluster. The words are those of Slurm 22.05 to 25.11.
"""

_LIMITS = """\
These words have parts: who has the limit (`QOS`, or `Assoc` for your account), what it counts,
and over what (all together, a user, an account, a job, a node). Where the portal knows the
numbers, it says for example:"""

_REFUSED = """\
Slurm refuses some sessions at once. Where it names a limit's word from above, the sentence is that
of the limit. Other texts of `sbatch`:"""

_SENTENCES = (
    "ReqNodeNotAvail, UnavailableNodes:node01",
    "ReqNodeNotAvail, May be reserved for other job",
    "ReqNodeNotAvail, Reserved for maintenance",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
    "launch failed requeued held",
    "user env retrieval failed requeued held",
    "job requeued in held state",
    "Reservation NAME, which this job was running under, has ended",
    "uid 20001 not in group permitted to use this partition (NAME)",
    "Job is at or exceeds QOS NAME's group max TRES(gres/gpu) minutes of 600 with 612",
)

_EXIT_CODES = (
    ("exit code 1, or any other", 1, 0),
    ("exit code 126", 126, 0),
    ("exit code 127", 127, 0),
    ("exit code 137, or signal 9 (KILL)", 0, 9),
    ("exit code 139, or signal 11 (SEGV)", 0, 11),
    ("exit code 135, or signal 7 (BUS)", 0, 7),
    ("exit code 143, or signal 15 (TERM)", 0, 15),
    ("exit code 130, or signal 2 (INT)", 0, 2),
    ("exit code 153, or signal 25 (XFSZ)", 0, 25),
    ("signal 53", 0, 53),
)


def render_reasons() -> str:
    """Return the page.

    Returns:
        Markdown text.
    """
    return "\n".join([_TOP, *_waiting(), *_ends(), *_refusals()])


def _waiting() -> list[str]:
    words = (DOCS_DIR / "slurm-reasons.txt").read_text(encoding="utf-8").split()
    limits = [word for word in words if parse_limit(word)]
    others = [word for word in words if not parse_limit(word)]
    return [
        "## The session waits",
        "",
        *_table("Slurm's word", [(word, explain_waiting(word)) for word in others]),
        "In some states the state says more than the reason:",
        "",
        *_table(
            "State",
            [(state.name, explain_waiting("", state=state)) for state in WAITING_STATES],
        ),
        "## The session waits, and Slurm says a sentence",
        "",
        *_table("Slurm's sentence", [(text, explain_waiting(text)) for text in _SENTENCES]),
        "## The session waits because of a limit",
        "",
        _LIMITS,
        "",
        f"> {_example()}",
        "",
        *_table("Slurm's word", [(word, explain_waiting(word)) for word in limits]),
    ]


def _ends() -> list[str]:
    states = [state for state in JobState if state.phase is Phase.OVER]
    parts = {"node": " on node01", "of_node": " node01", "limit": "", "memory": ""}
    return [
        "## The session ended",
        "",
        *_table("State", [(state.name, explain_end(state, node="node01")) for state in states]),
        "With the state CANCELLED Slurm says by whom:",
        "",
        *_table(
            "Cancelled by",
            [(who, diagnose(said, {"uid": "20001"})) for who, said in CANCELLED_BY.items()],
        ),
        "With the state FAILED the exit code or the signal says more:",
        "",
        *_table(
            "How it ended",
            [(how, _explain_failed(exit_code, signal)) for how, exit_code, signal in _EXIT_CODES],
        ),
        "Where there is none, and with the states CANCELLED and TIMEOUT, Slurm's reason counts:",
        "",
        *_table(
            "Slurm's word",
            [
                *((word, diagnose(said, parts)) for word, said in END_REASONS.items()),
                ("Job is at or exceeds …", diagnose(BUDGET)),
            ],
        ),
    ]


def _refusals() -> list[str]:
    return [
        "## The session was refused",
        "",
        _REFUSED,
        "",
        *_table(
            "sbatch says",
            [
                ("; ".join(texts), diagnose(said, {"partition": ""}))
                for texts, said in REJECTIONS.items()
            ],
        ),
    ]


def _explain_failed(exit_code: int, signal: int) -> Diagnosis:
    return explain_end(JobState.FAILED, exit_code=exit_code, signal=signal, node="node01")


def _example() -> str:
    situation = Situation(n_gpus=2, n_gpus_held=3, n_gpus_limit=4)
    return str(explain_waiting("QOSMaxGRESPerUser", situation))


def _table(title: str, rows: Iterable[tuple[str, Diagnosis]]) -> list[str]:
    lines = [f"| {title} | What the portal says | Next step |", "|---|---|---|"]
    for name, diagnosis in rows:
        lines.append(f"| {name} | {diagnosis.sentence} | {diagnosis.next_step} |")
    return [*lines, ""]


if __name__ == "__main__":
    (DOCS_DIR / "reference/reasons.md").write_text(render_reasons(), encoding="utf-8")
