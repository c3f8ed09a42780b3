"""Slurm's accounting: the cluster, its account and the users who may submit jobs."""

from collections.abc import Sequence

from deploy.common.command import run
from deploy.one_machine.slurm import CLUSTER_NAME

ACCOUNT = "research"


def ensure_associations(users: Sequence[str]) -> str:
    """Let users submit jobs; return what was done."""
    added = []
    if CLUSTER_NAME not in _names("cluster", "cluster"):
        _add("cluster", CLUSTER_NAME)
        added.append("cluster")
    if ACCOUNT not in _names("account", "account"):
        _add("account", ACCOUNT, f"cluster={CLUSTER_NAME}", "description=Research")
        added.append("account")
    known = parse_members(_sacctmgr("-nP", "list", "associations", "format=account,user"), ACCOUNT)
    # Slurm refuses the jobs of a user without an association: AccountingStorageEnforce.
    for user in users:
        if user not in known:
            _add("user", user, f"account={ACCOUNT}", f"cluster={CLUSTER_NAME}")
            added.append(user)
    return f"added {', '.join(added)}" if added else "unchanged"


def parse_members(text: str, account: str) -> set[str]:
    """Return the users of an account.

    Args:
        text: Lines "account|user" of sacctmgr.
        account: Its own line, which names no user, is left out.
    """
    pairs = (line.split("|") for line in text.splitlines())
    return {pair[1] for pair in pairs if len(pair) == 2 and pair[0] == account and pair[1]}


def _names(what: str, field: str) -> set[str]:
    return set(_sacctmgr("-nP", "list", what, f"format={field}").split())


def _add(*words: str) -> None:
    # -i answers yes: otherwise sacctmgr asks before it commits.
    _sacctmgr("-i", "add", *words)


def _sacctmgr(*words: str) -> str:
    return run(["sacctmgr", *words])
