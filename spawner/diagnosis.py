"""Why a job waits, ended or was refused: one sentence and one next step for the user.

Pure: plain values in, words out. The tables stand in modules of their own:

    waiting, waiting_reasons     why a job waits
    limit_reasons                limits of accounts and of qualities of service, by rule
    job_ends                     why a job ended
    rejections, rejection_texts  why sbatch refused a job
    job_logs                     the end of a log, without secrets
"""

from __future__ import annotations

from spawner.advice import Diagnosis, Situation
from spawner.job_ends import explain_end
from spawner.job_logs import log_tail, redact
from spawner.rejections import explain_rejection
from spawner.waiting import explain_waiting

__all__ = [
    "Diagnosis",
    "Situation",
    "explain_end",
    "explain_rejection",
    "explain_waiting",
    "log_tail",
    "redact",
]
