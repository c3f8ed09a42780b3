"""Recognizes that slurmctld gave no answer, so that nothing was decided about any job."""

# Parts of the errors of Slurm's commands; case does not matter.
#
# Source: src/common/slurm_errno.c and slurm_protocol_api.c of Slurm 22.05 to 25.11, and captures of
# 22.05.8 with slurmctld killed, munged stopped and a connection dropped.
UNREACHABLE = (
    "Unable to contact",
    "Unable to connect",
    "Connection refused",
    "Connection reset",
    "Connection timed out",
    "No route to host",
    "Could not resolve",
    "Can't find an address",
    "Could not establish a configuration source",
    "Communication connection failure",
    "Communication shutdown failure",
    "Communications",
    "Message send failure",
    "Message receive failure",
    "Unexpected message received",
    "Unexpected missing socket",
    "Insane message length",
    "Received zero length message",
    "Received message length",
    "Failed to send entire message",
    "Header lengths are longer",
    "Zero Bytes were",
    "timed out",
    "not responding",
    "gave no answer",
    "in standby mode",
    # It answered, but decided nothing.
    "can not be altered now, try again later",
)
UNAUTHENTICATED = (
    "Protocol authentication error",
    "Authentication error",
    "Authentication failure",
    "Authentication credential",
    "authentication agent",
    "authentication public key",
    "munge",
)
_TEXTS = tuple(text.lower() for text in (*UNREACHABLE, *UNAUTHENTICATED))


def is_no_answer(stderr: str) -> bool:
    """Return whether a Slurm command's standard error says that Slurm did not answer.

    Then it says nothing about any job. False if Slurm answered, whatever it said.
    """
    lower = stderr.lower()
    return any(text in lower for text in _TEXTS)
