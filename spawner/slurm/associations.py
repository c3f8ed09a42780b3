"""Limits in Slurm's own accounting: associations and qualities of service of each user."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from dsportal.slurm.errors import OptionsError
from dsportal.slurm.units import parse_time_limit
from spawner.errors import SlurmError
from spawner.slurm.tres import gpus_in_tres

_USER_FIELDS = (
    *("User", "DefaultAccount", "Account", "Partition", "QOS", "DefaultQOS"),
    *("MaxTRESPerJob", "MaxWall", "GrpTRES"),
)
_QOS_FIELDS = ("Name", "MaxTRESPerJob", "MaxTRESPerUser", "GrpTRES", "MaxWall")
# sacctmgr shows limits that an association inherits from its parents, but not group limits.
# With `of_cluster` behind it: one slurmdbd may serve several clusters.
USERS_ARGV = (
    *("sacctmgr", "--noheader", "--parsable2", "show", "user", "withassoc"),
    "format=" + ",".join(_USER_FIELDS),
)
QOS_ARGV = (
    *("sacctmgr", "--noheader", "--parsable2", "show", "qos"),
    "format=" + ",".join(_QOS_FIELDS),
)


def of_cluster(config: Mapping[str, str]) -> str:
    """Return what limits `USERS_ARGV` to one cluster; `config` is slurmctld's, by key."""
    return f"cluster={config.get('ClusterName', '')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationLimits:
    """The most that Slurm ever gives one job.

    Attributes:
        max_gpus: GPUs, or None for no limit.
        max_gpus_by_type: Limits of single GPU types.
        max_walltime_s: Seconds, or None for no limit.
        of: Whose limit it is, for example "the account research"; empty if there is no limit.
    """

    max_gpus: int | None = None
    max_gpus_by_type: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    max_walltime_s: int | None = None
    of: str = ""

    def joined(self, other: AssociationLimits) -> AssociationLimits:
        """Return the lower of each limit, for two ceilings that hold at once."""
        types = {*self.max_gpus_by_type, *other.max_gpus_by_type}
        by_type = {
            name: _least(self.max_gpus_by_type.get(name), other.max_gpus_by_type.get(name))
            for name in types
        }
        names = dict.fromkeys(name for name in (self.of, other.of) if name)
        return AssociationLimits(
            max_gpus=_least(self.max_gpus, other.max_gpus),
            max_gpus_by_type={name: most for name, most in by_type.items() if most is not None},
            max_walltime_s=_least(self.max_walltime_s, other.max_walltime_s),
            of=" and ".join(names),
        )

    @property
    def is_open(self) -> bool:
        """Whether there is no limit at all."""
        return self.max_gpus is self.max_walltime_s is None and not self.max_gpus_by_type


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLimits:
    """Limits on GPUs of any type, each by what it is counted over; None for no limit.

    Attributes:
        per_job: Of one job.
        per_user: Of all jobs that one user runs in a QOS.
        group: Of all jobs in the QOS or association together.
    """

    per_job: int | None = None
    per_user: int | None = None
    group: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """One combination of account, partition and QOS under which a user may submit.

    Attributes:
        account: The account that pays.
        is_default: Whether jobs that name no account use this one.
        partition: The only partition it holds for; empty for all.
        qos: Qualities of service that its jobs may have.
        default_qos: QOS of jobs that name none; empty if Slurm chooses.
        ceiling: Its own limits.
        gpu_limits: Its own limits on GPUs, one by one.
    """

    account: str
    is_default: bool = False
    partition: str = ""
    qos: tuple[str, ...] = ()
    default_qos: str = ""
    ceiling: AssociationLimits = AssociationLimits()
    gpu_limits: GpuLimits = GpuLimits()

    @property
    def first_qos(self) -> str:
        """QOS of jobs that name none; empty if Slurm chooses among several."""
        return self.default_qos or (self.qos[0] if len(self.qos) == 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Associations:
    """The associations of all users.

    Attributes:
        by_user: By name of the user; users without any are left out.
        qos: Limits of each quality of service, by name.
        qos_gpu_limits: Its limits on GPUs, one by one, by name.
    """

    by_user: Mapping[str, tuple[Association, ...]] = field(default_factory=dict)
    qos: Mapping[str, AssociationLimits] = field(default_factory=dict)
    qos_gpu_limits: Mapping[str, GpuLimits] = field(default_factory=dict)

    @classmethod
    def parse(cls, users: str, qos: str) -> Associations:
        """Return the associations in the output of `USERS_ARGV` and `QOS_ARGV`.

        Source:
            sacctmgr(1), Slurm 22.05 to 25.11.
        """
        by_user: dict[str, list[Association]] = defaultdict(list)
        for row in _rows(users, _USER_FIELDS, USERS_ARGV):
            by_user[row["User"]].append(_parse_association(row))
        qos_rows = list(_rows(qos, _QOS_FIELDS, QOS_ARGV))
        return cls(
            by_user={user: tuple(rows) for user, rows in by_user.items()},
            qos={
                row["Name"]: _parse_ceiling(
                    (row["MaxTRESPerJob"], row["MaxTRESPerUser"], row["GrpTRES"]),
                    row["MaxWall"],
                    of=f"the QOS {row['Name']}",
                )
                for row in qos_rows
            },
            qos_gpu_limits={
                row["Name"]: GpuLimits(
                    per_job=gpus_in_tres(row["MaxTRESPerJob"]).get(""),
                    per_user=gpus_in_tres(row["MaxTRESPerUser"]).get(""),
                    group=gpus_in_tres(row["GrpTRES"]).get(""),
                )
                for row in qos_rows
            },
        )

    def accounts(self, user: str) -> tuple[str, ...]:
        """Return the accounts that a user may name, default first; none if the user is hidden."""
        rows = sorted(self.by_user.get(user, ()), key=lambda row: not row.is_default)
        return tuple(dict.fromkeys(row.account for row in rows))

    def allowed_qos(self, user: str) -> tuple[str, ...]:
        """Return the QOS that a user may name with any account; none if the user is hidden."""
        rows = self.by_user.get(user, ())
        return tuple(dict.fromkeys(name for row in rows for name in row.qos))

    def ceiling(
        self,
        user: str,
        *,
        account: str | None = None,
        partition: str | None = None,
        qos: str | None = None,
    ) -> AssociationLimits:
        """Return the most that one job of a user can have; a larger one would never start.

        Returns:
            Open if Slurm shows no limits, or does not show this user to the hub.
        """
        rows = self.matching(user, account=account, partition=partition)
        none = AssociationLimits()
        return most_generous(
            [row.ceiling.joined(self.qos.get(qos or row.first_qos, none)) for row in rows]
        )

    def matching(
        self, user: str, *, account: str | None, partition: str | None
    ) -> list[Association]:
        """Return the associations that Slurm may charge a job to; the arguments as in `ceiling`."""
        return [
            row
            for row in self.by_user.get(user, ())
            if (row.account == account if account else row.is_default)
            and (not row.partition or partition is None or row.partition == partition)
        ]


def _parse_association(row: Mapping[str, str]) -> Association:
    return Association(
        account=row["Account"],
        is_default=row["Account"] == row["DefaultAccount"],
        partition=row["Partition"],
        qos=tuple(name for name in row["QOS"].split(",") if name),
        default_qos=row["DefaultQOS"],
        ceiling=_parse_ceiling(
            (row["MaxTRESPerJob"], row["GrpTRES"]),
            row["MaxWall"],
            of=f"the account {row['Account']}",
        ),
        gpu_limits=GpuLimits(
            per_job=gpus_in_tres(row["MaxTRESPerJob"]).get(""),
            group=gpus_in_tres(row["GrpTRES"]).get(""),
        ),
    )


def _parse_ceiling(tres: Sequence[str], max_wall: str, *, of: str) -> AssociationLimits:
    most = gpus_in_tres(*tres)
    max_gpus = most.pop("", None)
    walltime_s = parse_time_limit(max_wall) if max_wall else None
    ceiling = AssociationLimits(
        max_gpus=max_gpus, max_gpus_by_type=most, max_walltime_s=walltime_s, of=of
    )
    # Without a limit there is nobody whose limit it would be.
    return AssociationLimits() if ceiling.is_open else ceiling


def most_generous(ceilings: Sequence[AssociationLimits]) -> AssociationLimits:
    """Return the highest of several ceilings, of which a user can choose one.

    Returns:
        The one with the most GPUs, and of these with the longest time; open for no choice.
    """
    # One choice without limits is enough.
    if not ceilings or any(ceiling.is_open for ceiling in ceilings):
        return AssociationLimits()
    return max(ceilings, key=lambda c: (_or_more(c.max_gpus), _or_more(c.max_walltime_s)))


def _or_more(limit: int | None) -> float:
    return float("inf") if limit is None else limit


def _least(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _rows(text: str, names: Sequence[str], argv: Sequence[str]) -> Iterable[dict[str, str]]:
    for line in filter(str.strip, text.splitlines()):
        values = line.split("|")
        if len(values) != len(names):
            raise SlurmError(_unreadable(line), argv=argv)
        row = dict(zip(names, values, strict=True))
        # sacctmgr also lists users without an association on the cluster, with a MaxWall of zero.
        if row.get("Account") == "":
            continue
        try:
            # Parsed again by the caller; here the whole line is at hand for the error.
            parse_time_limit(row["MaxWall"] or "-1")
        except OptionsError as error:
            raise SlurmError(_unreadable(line), argv=argv) from error
        yield row


def _unreadable(line: str) -> str:
    return (
        f"sacctmgr printed a line that cannot be read: {line[:200]!r}. "
        "Ask the administrators to check the release of Slurm."
    )
