"""Slurm's states and reasons as sentences, the same that the portal's pages show for a session.

The sentences are in `words.json`, generated from the portal's own tables, because the environments
of the frameworks do not contain those.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

WORDS_PATH = Path(__file__).with_name("words.json")
_UNAVAILABLE_NODES = re.compile(r"UnavailableNodes:\s*(?P<nodes>[^\s,)]\S*)", re.IGNORECASE)
_N_CHARACTERS = 200


def explain_waiting(reason: str, state: str = "PENDING") -> str:
    """Return why a run waits.

    Args:
        reason: What squeue prints as reason (%r): a word such as "Resources", or a sentence.
        state: The job's state, squeue's long name.

    Returns:
        What happened and the next step. An unknown reason is quoted.
    """
    words = _words()
    if state in words["waiting_states"]:
        return str(words["waiting_states"][state])
    text = _plain(reason)
    name = words["also"].get(text.lower(), text.lower())
    if name in words["waiting"]:
        return str(words["waiting"][name])
    nodes = _UNAVAILABLE_NODES.search(text)
    if nodes is not None:
        return str(words["unavailable_nodes"]).replace("{nodes}", _quoted(nodes["nodes"])[1:-1])
    for pattern, sentence in words["waiting_sentences"]:
        if re.search(pattern, text, re.IGNORECASE):
            return str(sentence)
    return str(words["waiting_unknown"]).replace("{reason}", _quoted(text))


def explain_end(state: str, node: str = "") -> str:
    """Return why a run's job ended, if the run itself did not say.

    Args:
        state: The job's last state, the long name of squeue and sacct.
        node: The node that it ran on, or empty.

    Returns:
        What happened and the next step.
    """
    words = _words()
    text = str(words["ends"].get(state, words["end_unknown"]))
    shown = f" {_quoted(node)[1:-1]}" if node else ""
    return text.replace("{of_node}", shown).replace("{node}", f" on{shown}" if shown else "")


def explain_rejection(stderr: str) -> str:
    """Return why sbatch refused a run.

    Args:
        stderr: What sbatch printed on standard error.

    Returns:
        What is wrong and the next step. Unknown text is quoted.
    """
    words = _words()
    for word in re.findall(r"\b(?:QOS|Assoc|Max)[A-Za-z]{3,60}\b", stderr):
        if word.lower() in words["rejected_limits"]:
            return str(words["rejected_limits"][word.lower()])
    lower = stderr.lower()
    for texts, sentence in words["rejections"]:
        if any(text in lower for text in texts):
            return str(sentence)
    return str(words["rejection_unknown"]).replace("{said}", _quoted(stderr))


def _plain(reason: str) -> str:
    text = reason.strip()
    if text.startswith("(") and text.endswith(")") and text != "(null)":
        text = text[1:-1].strip()
    return text if " " in text else text.replace("_", " ")


def _quoted(text: str) -> str:
    # Slurm's text may hold what users and administrators typed: on one line, without control codes.
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f'"{line[:_N_CHARACTERS]}…"' if len(line) > _N_CHARACTERS else f'"{line}"'


@functools.cache
def _words() -> dict[str, Any]:
    words: dict[str, Any] = json.loads(WORDS_PATH.read_text(encoding="utf-8"))
    return words
