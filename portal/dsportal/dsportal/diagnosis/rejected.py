"""Why sbatch refused a job, from its standard error."""

import re

from dsportal.diagnosis.limit import find_limit
from dsportal.diagnosis.limit_reasons import explain_limit
from dsportal.diagnosis.messages import UNKNOWN_SITUATION, Diagnosis, Situation, diagnose, quote
from dsportal.diagnosis.rejected_texts import REJECTIONS, SILENT_REJECTION, UNKNOWN_REJECTION

_TEXTS = tuple((tuple(t.lower() for t in texts), words) for texts, words in REJECTIONS.items())

_PREFIX = re.compile(r"^(?:sbatch|srun|salloc): (?:(?:error|fatal|lua|info): )*")
_GENERAL = re.compile(r"(?:Batch job submission failed: |allocation failure: )?Unspecified error")


def explain_rejection(stderr: str, situation: Situation = UNKNOWN_SITUATION) -> Diagnosis:
    """Return why Slurm refused a job.

    Unknown text, such as that of a site's own submit plugin, is quoted.

    Source:
        With the QOS flag DenyOnLimit sbatch prints the limit's word on a line of its own,
        Slurm 22.05 to 25.11; the rest as `REJECTIONS` says.
    """
    # The limit's own word says more than the general error behind it.
    limit = find_limit(stderr)
    if limit is not None:
        return explain_limit(limit, situation, is_refused=True)
    partition = quote(situation.partition or "", n_characters=64).strip('"')
    lower = stderr.lower()
    # In the order of the table, in which the more telling texts come first.
    for texts, words in _TEXTS:
        if any(text in lower for text in texts):
            parts = {"partition": f" {partition}" if partition else ""}
            return diagnose(words, parts, situation)
    said = said_by_slurm(stderr)
    words = UNKNOWN_REJECTION if said else SILENT_REJECTION
    return diagnose(words, {"said": quote(said, n_characters=400)}, situation)


def said_by_slurm(stderr: str) -> str:
    """Return the lines of a command's standard error that say something, without its name."""
    lines = (_PREFIX.sub("", line.strip()) for line in stderr.splitlines())
    telling = (line for line in lines if line and not _GENERAL.fullmatch(line))
    return "; ".join(line.removeprefix("Batch job submission failed: ") for line in telling)
