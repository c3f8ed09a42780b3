"""Write the pages of reasons in docs/reference from the tables that the portal itself uses.

Run it from the root of the repository after a change of words:

    python docs/make_reasons.py
"""

import sys
from collections.abc import Iterable
from pathlib import Path

DOCS_DIR = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS_DIR.parent / "portal/dsportal"))
sys.path.insert(0, str(DOCS_DIR.parent))

from dsportal.diagnosis import explain_end, explain_waiting  # noqa: E402
from dsportal.diagnosis.ended import BUDGET, CANCELLED_BY, END_REASONS  # noqa: E402
from dsportal.diagnosis.limit import parse_limit  # noqa: E402
from dsportal.diagnosis.messages import Diagnosis, Situation, diagnose  # noqa: E402
from dsportal.diagnosis.pending import WAITING_STATES  # noqa: E402
from dsportal.diagnosis.rejected_texts import REJECTIONS  # noqa: E402
from dsportal.slurm.states import JobState, Phase  # noqa: E402

_MADE = """\
`docs/make_reasons.py` makes this page from the tables in `portal/dsportal/dsportal/diagnosis`. Do
not edit it by hand.
"""

_TOP = f"""\
# What Slurm says, and what the portal makes of it

{_MADE}
A session is a Slurm job. When it waits, ends or is refused, Slurm gives the reason in one word. The
portal shows a sentence and one next step instead. Where it knows numbers, such as the GPUs that you
hold and your limit, it puts them in. A word that is not in these tables is shown as it is.

"The administrators" are those of your cluster. The words are those of Slurm 22.05 to 25.11.

* This page: why a session waits
* [Limits that keep a session waiting](reasons-limits.md)
* [Why a session ended](reasons-ended.md)
* [Why a session was refused](reasons-refused.md)
"""

_LIMITS = f"""\
# Limits that keep a session waiting

{_MADE}
These words have parts: the owner of the limit (`QOS`, or `Assoc` for your account), the resource,
and the scope (all together, a user, an account, a job, a node). Where the portal knows the numbers,
it says for example:"""

_ENDED = f"""\
# Why a session ended

{_MADE}
"""

_REFUSED = f"""\
# Why a session was refused

{_MADE}
Slurm refuses some sessions at once. If it names [a limit](reasons-limits.md), the sentence is that
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


def render_reasons() -> dict[str, str]:
    """Return the Markdown text of each page, by its name."""
    pages = {
        "reasons": _waiting(),
        "reasons-limits": _limits(),
        "reasons-ended": _ends(),
        "reasons-refused": _refusals(),
    }
    return {name: "\n".join(lines).rstrip("\n") + "\n" for name, lines in pages.items()}


def _slurm_words() -> list[str]:
    return (DOCS_DIR / "slurm-reasons.txt").read_text(encoding="utf-8").split()


def _waiting() -> list[str]:
    words = [word for word in _slurm_words() if not parse_limit(word)]
    return [
        _TOP,
        "## The session waits",
        "",
        *_table("Slurm's word", [(word, explain_waiting(word)) for word in words]),
        "In some states the state says more than the reason:",
        "",
        *_table(
            "State",
            [(state.name, explain_waiting("", state=state)) for state in WAITING_STATES],
        ),
        "## Slurm says a sentence",
        "",
        *_table("Slurm's sentence", [(text, explain_waiting(text)) for text in _SENTENCES]),
    ]


def _limits() -> list[str]:
    words = [word for word in _slurm_words() if parse_limit(word)]
    return [
        _LIMITS,
        "",
        f"> {_example()}",
        "",
        *_table("Slurm's word", [(word, explain_waiting(word)) for word in words]),
    ]


def _ends() -> list[str]:
    states = [state for state in JobState if state.phase is Phase.OVER]
    parts = {"node": " on node01", "of_node": " node01", "limit": "", "memory": ""}
    return [
        _ENDED,
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
        _REFUSED,
        "",
        *_table(
            "sbatch says",
            [
                (", ".join(f"`{text}`" for text in texts), diagnose(said, {"partition": ""}))
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
    for name, text in render_reasons().items():
        (DOCS_DIR / f"reference/{name}.md").write_text(text, encoding="utf-8")
