"""Slurm's accounting: the cluster, its account and the users who may submit jobs."""

from collections.abc import Sequence

from deploy.common.command import run
from deploy.common.errors import CommandError
from deploy.one_machine.slurm import CLUSTER_NAME

ACCOUNT = "research"


def ensure_associations(users: Sequence[str]) -> str:
    """Let users submit jobs; return what was done."""
    of_cluster = f"cluster={CLUSTER_NAME}"
    wanted = [
        ("cluster", CLUSTER_NAME),
        ("account", ACCOUNT, of_cluster, "description=Research"),
        # Slurm refuses the jobs of a user without an association: AccountingStorageEnforce.
        *(("user", user, f"account={ACCOUNT}", of_cluster) for user in users),
    ]
    added = [words[1] for words in wanted if _add(*words)]
    return f"added {', '.join(added)}" if added else "unchanged"


def _add(*words: str) -> bool:
    try:
        # -i answers yes: otherwise sacctmgr asks before it commits.
        run(["sacctmgr", "-i", "add", *words])
    except CommandError as error:
        if not any(said in error.output for said in ("Nothing new added", "already exists")):
            raise
        return False
    return True
