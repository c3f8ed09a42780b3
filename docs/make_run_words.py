"""Write portal/launch/slurm/words.json from the tables that the portal's pages use.

Run it from the root of the repository after a change of words:

    python docs/make_run_words.py
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from spawner.diagnosis import (  # noqa: E402
    explain_end,
    explain_rejection,
    explain_waiting,
    pending,
)
from spawner.diagnosis.ended import END_STATES  # noqa: E402
from spawner.diagnosis.limits import explain_limit, parse_limit  # noqa: E402
from spawner.diagnosis.messages import UNKNOWN_SITUATION, diagnose  # noqa: E402
from spawner.diagnosis.pending_reasons import WAITING_REASONS  # noqa: E402
from spawner.diagnosis.rejected_texts import REJECTIONS  # noqa: E402
from spawner.slurm.states import JobState  # noqa: E402

WORDS_PATH = CHECKOUT / "portal" / "launch" / "slurm" / "words.json"
_MARK = "XXXX"


def of_a_run(text: object) -> str:
    """Return a sentence about a session as one about a run.

    Args:
        text: The sentence and its next step.

    Returns:
        The text with other nouns.
    """
    run = re.sub(r"\b(A|a) (new )?session\b", r"\1 \2run", str(text))
    run = re.sub(r"\b([Tt]he|[Tt]his|one) session\b", r"\1 run", run)
    run = run.replace("Start a new run when you need one.", "Start it again when you need it.")
    return run.replace("Cancel this start", "Stop the run").replace("cancel this start", "stop it")


def render_words() -> str:
    """Return the file.

    Returns:
        JSON text.
    """
    words = (CHECKOUT / "docs" / "slurm-reasons.txt").read_text(encoding="utf-8").split()
    reasons = sorted({*words, *WAITING_REASONS})
    limits = [(word, parse_limit(word)) for word in words]
    nodes = explain_waiting(f"ReqNodeNotAvail, UnavailableNodes:{_MARK}")
    content = {
        "waiting": {word.lower(): of_a_run(explain_waiting(word)) for word in reasons},
        "also": {text: name.lower() for text, name in pending.ALSO.items()},
        "waiting_states": {
            state.name: of_a_run(diagnose(said)) for state, said in pending.WAITING_STATES.items()
        },
        "waiting_sentences": [
            [pattern.pattern, of_a_run(explain_waiting(name))]
            for pattern, name in pending.SENTENCES
        ],
        "unavailable_nodes": of_a_run(nodes).replace(_MARK, "{nodes}"),
        "waiting_unknown": of_a_run(explain_waiting(_MARK)).replace(f'"{_MARK}"', "{reason}"),
        "ends": {
            state.name: of_a_run(explain_end(state, node=_MARK))
            .replace(f" on {_MARK}", "{node}")
            .replace(f" {_MARK}", "{of_node}")
            for state in END_STATES
        },
        "end_unknown": of_a_run(explain_end(JobState.UNKNOWN)),
        "rejections": [
            [[text.lower() for text in texts], of_a_run(diagnose(said, {"partition": ""}))]
            for texts, said in REJECTIONS.items()
        ],
        "rejected_limits": {
            word.lower(): of_a_run(explain_limit(limit, UNKNOWN_SITUATION, is_refused=True))
            for word, limit in limits
            if limit is not None
        },
        "rejection_unknown": of_a_run(explain_rejection(_MARK)).replace(f'"{_MARK}"', "{said}"),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    WORDS_PATH.write_text(render_words(), encoding="utf-8")
