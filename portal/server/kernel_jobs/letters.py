"""Questions of a kernel in a job: it reaches the notebook server only by the folder of its job.

Each is a file there, and so is its answer.
"""

import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.handover import write_json

# The folder. It tells a Python kernel, too, that its ports are open to others, so that it starts
# with encryption or not at all.
VARIABLE = "PORTAL_KERNEL_JOB"
# Tells programs that a cell in the session starts which kernel theirs is.
KERNEL_ID = "PORTAL_KERNEL_ID"
_ASKED, _ANSWER = "asked-", "answer-"
_TIMEOUT_S = 30.0
_LOOK_S = 0.2


def ask(folder: Path, question: dict[str, object]) -> dict[str, Any]:
    """Return the notebook server's answer to a question from the job of a folder.

    Raises:
        KernelJobError: If it refuses, or gives no answer.
    """
    name = f"{uuid.uuid4().hex}.json"
    answer = folder / f"{_ANSWER}{name}"
    write_json(folder / f"{_ASKED}{name}", question)
    give_up_s = time.monotonic() + _TIMEOUT_S
    # A network's folder is current when it is listed, not when one name in it is asked for.
    while answer.name not in os.listdir(folder):
        if time.monotonic() > give_up_s:
            raise KernelJobError(
                f"The notebook server gave no answer within {_TIMEOUT_S:.0f} s. Use the button "
                "beside the kernel's name."
            )
        time.sleep(_LOOK_S)
    told = dict(json.loads(answer.read_text("utf-8")))
    answer.unlink()
    if refusal := told.get("refusal"):
        raise KernelJobError(str(refusal))
    return told


def take_questions(folder: Path) -> dict[Path, dict[str, Any]]:
    """Return the questions that are in a folder, by the file of the answer; each only once."""
    taken = {}
    for name in os.listdir(folder):
        if name.startswith(_ASKED) and name.endswith(".json"):
            asked = folder / name
            answer = folder / name.replace(_ASKED, _ANSWER, 1)
            taken[answer] = dict(json.loads(asked.read_text("utf-8")))
            asked.unlink()
    return taken
