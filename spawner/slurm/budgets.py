"""Budgets in Slurm: the GPU hours that an account or a QOS may use over time, and has used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from spawner.slurm.gres import SHARD
from spawner.slurm.resources import Resources

# All associations and QOS with their usage, a line each: sacctmgr knows no usage.
ASSOC_MGR_ARGV = ("scontrol", "--oneliner", "show", "assoc_mgr", "flags=assoc,qos")
FACTORS_ARGV = (
    *("sacctmgr", "--noheader", "--parsable2", "show", "qos"),
    "format=Name,UsageFactor,Flags",
)
PARTITIONS_ARGV = ("scontrol", "--oneliner", "--all", "show", "partitions")
_OWNER = re.compile(
    r"ClusterName=\S+ Account=(?P<account>\S+) UserName=(?P<user>[^\s(]*)\S* "
    r"Partition=(?P<partition>\S*) |QOS=(?P<qos>\S+)\(\d+\) "
)
_PARENT = re.compile(r" ParentAccount=([^\s(]*)")
_FAIR_SHARE = re.compile(r" SharesRaw/Norm/Level/Factor=\S*/([\d.]+) ")
_PARTITION = re.compile(r"PartitionName=(?P<name>\S+) (?:.*? )?QoS=(?P<qos>\S+)(?: |$)")
_NO_QOS = "N/A"
# Of a job's QOS: its limits count before those of the partition's.
_FIRST = "OverPartQOS"
_AMOUNT = re.compile(r"(?P<limit>\d+|N)(?:\((?P<used>\d+)\))?")
_ROOT = "root"
# Account, user and partition; the last two are empty for an account as a whole.
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Minutes of one resource that jobs may use.

    Attributes:
        tres: Slurm's name of the resource: "gres/gpu", "gres/gpu:v100", "cpu", "mem" in MiB.
        of: Whose budget it is, for example "research" or "the QOS long".
        limit_min: Minutes times the amount of the resource.
        used_min: What jobs have used of it; Slurm lets it decay as the site says.
        running_min: What running jobs may still use until their time limits.
        is_per_job: Each job has all of it.
    """

    tres: str
    of: str
    limit_min: int
    used_min: int = 0
    running_min: int = 0
    is_per_job: bool = False

    @property
    def left_min(self) -> int:
        """What is not used."""
        return max(0, self.limit_min - self.used_min)

    def amount(self, resources: Resources, gpu_type: str | None) -> int:
        """Return how much of this resource a job holds; 0 also if that is not known."""
        gpus = {"gres/gpu": resources.n_gpus, f"gres/gpu:{gpu_type}": resources.n_gpus}
        if gpu_type == SHARD:
            gpus = {f"gres/{SHARD}": resources.n_gpus}
        held = {"cpu": resources.n_cores, "mem": resources.memory_mib, "node": 1, **gpus}
        return held.get(self.tres, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The budgets of all users; none where Slurm enforces none.

    Attributes:
        by_association: Those of accounts, and of users in them.
        parents: The account above each account.
        fair_shares: Factor of each association, 0 to 1: jobs with a high one start first.
        by_qos: Those of each quality of service, by name.
        free_qos: QOS whose jobs use up no budget.
        by_partition: The QOS of each partition that has one; "" is the default partition.
        first_qos: QOS whose limits count before those of a partition's.
        is_safe: Slurm starts only jobs that end before a budget does; else it ends them then.
        problem: Why nothing is known, a sentence; else empty.
    """

    by_association: Mapping[_Key, tuple[Budget, ...]] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    fair_shares: Mapping[_Key, float] = field(default_factory=dict)
    by_qos: Mapping[str, tuple[Budget, ...]] = field(default_factory=dict)
    free_qos: frozenset[str] = frozenset()
    by_partition: Mapping[str, str] = field(default_factory=dict)
    first_qos: frozenset[str] = frozenset()
    is_safe: bool = False
    problem: str = ""

    @classmethod
    def parse(
        cls, assoc_mgr: str, factors: str, partitions: str, config: Mapping[str, str]
    ) -> Budgets:
        """Return the budgets in the output of `ASSOC_MGR_ARGV` and the others here.

        Args:
            assoc_mgr: Lines other than associations and QOS are skipped.
            factors: Name, factor and flags of each QOS.
            partitions: A line for each partition.
            config: slurmctld's configuration by key.

        Source:
            scontrol(1), show assoc_mgr, and src/scontrol/info_assoc_mgr.c, Slurm 22.05 to 25.11;
            scontrol(1), show partition, and sacctmgr(1), OverPartQOS, Slurm 22.05.
            resource_limits.html: a limit on minutes needs priority/multifactor.
        """
        found: dict[_Key, tuple[Budget, ...]] = {}
        parents: dict[str, str] = {}
        fair_shares: dict[_Key, float] = {}
        by_qos: dict[str, tuple[Budget, ...]] = {}
        for line in assoc_mgr.splitlines():
            owner = _OWNER.match(line)
            if owner is None:
                continue
            if owner["qos"]:
                by_qos[owner["qos"]] = tuple(_parse_budgets(line, f"the QOS {owner['qos']}"))
                continue
            key = (owner["account"], owner["user"], owner["partition"])
            found[key] = tuple(_parse_budgets(line, _name(*key)))
            if not owner["user"] and (parent := _PARENT.search(line)):
                parents[owner["account"]] = parent[1]
            if factor := _FAIR_SHARE.search(line):
                fair_shares[key] = float(factor[1])
        # The separators make up for fields that an older Slurm leaves out.
        rows = [f"{line}||".split("|")[:3] for line in factors.splitlines()]
        return cls(
            by_association=found,
            parents=parents,
            fair_shares=fair_shares if config.get("PriorityWeightFairShare", "0") != "0" else {},
            by_qos=by_qos,
            free_qos=frozenset(name for name, factor, _ in rows if _is_zero(factor)),
            by_partition=dict(_parse_partitions(partitions)),
            first_qos=frozenset(name for name, _, flags in rows if _FIRST in _words(flags)),
            is_safe="safe" in _words(config.get("AccountingStorageEnforce", "")),
            problem="" if found else "Slurm hides the budgets of accounts from the portal.",
        )

    def of_job(self, *, user: str, account: str, partition: str, qos: str) -> tuple[Budget, ...]:
        """Return the budgets that a job is charged to, the narrowest first.

        Args:
            user: Its owner.
            account: Its Slurm account.
            partition: Empty for Slurm's default one.
            qos: Empty if not known.
        """
        own = self._association(user, account, partition)
        if own is None:
            return ()
        chain = [own]
        while (above := (account, "", "")) in self.by_association and above not in chain:
            chain.append(above)
            account = self.parents.get(account, "")
        of_qos = self.by_qos.get(qos, ())
        of_partition = self.by_qos.get(self.by_partition.get(partition, ""), ())
        of_chain = [
            budget
            for key in chain
            for budget in self.by_association[key]
            # Accounts hand the limit of one job down to their users.
            if key == own or not budget.is_per_job
        ]
        # Each takes the place of those behind it that limit the same.
        both = (of_qos, of_partition) if qos in self.first_qos else (of_partition, of_qos)
        budgets: tuple[Budget, ...] = ()
        for level in (*both, of_chain):
            replaced = {(budget.tres, budget.is_per_job) for budget in budgets}
            budgets += tuple(each for each in level if (each.tres, each.is_per_job) not in replaced)
        if qos in self.free_qos:
            return tuple(replace(budget, used_min=0, running_min=0) for budget in budgets)
        return budgets

    def fair_share(self, user: str, account: str) -> float | None:
        """Return the factor of a user in an account, 0 to 1; None if Slurm uses none."""
        own = self._association(user, account, "")
        return None if own is None else self.fair_shares.get(own)

    def _association(self, user: str, account: str, partition: str) -> _Key | None:
        keys = ((account, user, partition), (account, user, ""))
        return next((key for key in keys if key in self.by_association), None)


def are_enforced(config: Mapping[str, str]) -> bool:
    """Return whether Slurm keeps jobs within budgets, by slurmctld's configuration."""
    enforced = _words(config.get("AccountingStorageEnforce", ""))
    return "limits" in enforced and config.get("PriorityType") != "priority/basic"


def _name(account: str, user: str, _: str) -> str:
    if user:
        return f"your part of {account}"
    return "this cluster" if account == _ROOT else account


def _parse_budgets(line: str, of: str) -> Iterator[Budget]:
    for tres, (limit_min, used_min) in _parse_tres(line, "GrpTRESMins").items():
        if limit_min is not None:
            _, running_min = _parse_tres(line, "GrpTRESRunMins").get(tres, (None, 0))
            yield Budget(
                tres=tres,
                of=of,
                limit_min=limit_min,
                used_min=used_min,
                running_min=running_min,
            )
    for tres, (limit_min, _) in _parse_tres(line, "MaxTRESMinsPJ").items():
        if limit_min is not None:
            yield Budget(tres=tres, of=of, limit_min=limit_min, is_per_job=True)


def _parse_partitions(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        found = _PARTITION.match(line)
        if found is not None and found["qos"] != _NO_QOS:
            yield found["name"], found["qos"]
            if " Default=YES " in line:
                yield "", found["qos"]


def _parse_tres(line: str, name: str) -> dict[str, tuple[int | None, int]]:
    # The first one: a comment at the end of the line may hold anything.
    text = line.partition(f" {name}=")[2].partition(" ")[0]
    found = {}
    for entry in text.split(","):
        tres, _, amount = entry.rpartition("=")
        if match := _AMOUNT.fullmatch(amount):
            limit = None if match["limit"] == "N" else int(match["limit"])
            found[tres] = (limit, int(match["used"] or 0))
    return found


def _is_zero(factor: str) -> bool:
    return bool(factor) and not factor.strip("0.")


def _words(text: str) -> set[str]:
    return {word.strip() for word in text.split(",")}
