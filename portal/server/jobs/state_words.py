"""The words for a job's state in the list of jobs."""

from dsportal.slurm.states import JobState, parse_state

# Words for users; a state that is not here is shown as Slurm calls it.
_WORDS = {
    JobState.PENDING: "Waiting",
    JobState.CONFIGURING: "Preparing",
    JobState.COMPLETING: "Ending",
    JobState.TIMEOUT: "Time limit",
    JobState.NODE_FAIL: "Node failed",
    JobState.BOOT_FAIL: "Node failed",
    JobState.OUT_OF_MEMORY: "Out of memory",
}


def state_words(text: str) -> str:
    """Return the words for a state as squeue or sacct prints it, such as "CANCELLED by 1000"."""
    word = text.partition(" ")[0]
    return _WORDS.get(parse_state(word), word.replace("_", " ").capitalize())
