"""Why a job waits, ended or was refused: one sentence and one next step for the user.

Pure: plain values in, text out. The tables are in modules of their own:

    pending, pending_reasons    why a job waits
    limits                      limits of accounts and of qualities of service, by rule
    ended                       why a job ended
    rejected, rejected_texts    why sbatch refused a job
    log_tail                    the end of a log, without secrets
"""

from dsportal.diagnosis.ended import explain_end
from dsportal.diagnosis.log_tail import log_tail, redact
from dsportal.diagnosis.messages import Diagnosis, Situation
from dsportal.diagnosis.pending import explain_waiting, is_held
from dsportal.diagnosis.rejected import explain_rejection

__all__ = [
    "Diagnosis",
    "Situation",
    "explain_end",
    "explain_rejection",
    "explain_waiting",
    "is_held",
    "log_tail",
    "redact",
]
