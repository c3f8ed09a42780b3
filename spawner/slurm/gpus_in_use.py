"""The GPUs that running jobs hold: squeue's format and its parser."""

from __future__ import annotations

from dataclasses import dataclass

from spawner.slurm.tres import gpus_in_tres

# Slurm allows no blank in these fields, so the padding of squeue separates them.
GPUS_IN_USE_ARGV = (
    *("squeue", "--noheader", "--all", "--states=RUNNING,SUSPENDED"),
    # squeue cuts what is wider without a word.
    "--Format=UserName:64,Account:64,QOS:64,tres-alloc:256",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpusInUse:
    """The GPUs of one running job."""

    user: str
    account: str
    qos: str
    n_gpus: int


def parse_gpus_in_use(text: str) -> list[GpusInUse]:
    """Return the jobs with GPUs in the output of `GPUS_IN_USE_ARGV`; other lines are skipped.

    Source:
        squeue(1), --Format, Slurm 22.05 to 25.11.
    """
    jobs = []
    for line in text.splitlines():
        words = line.split()
        # With an empty column it is not known which word belongs where.
        if len(words) != 4:
            continue
        user, account, qos, tres = words
        n_gpus = gpus_in_tres(tres).get("", 0)
        if n_gpus:
            jobs.append(GpusInUse(user=user, account=account, qos=qos, n_gpus=n_gpus))
    return jobs
