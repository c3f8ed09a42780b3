"""Limits of what one user may ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from spawner.errors import SettingsError
from spawner.settings.resources import ResourceSettings
from spawner.slurm.associations import AssociationLimits

_SITE = ResourceSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the site lets a user ask for.

    Attributes:
        max_gpus: GPUs in one session, or None for what the largest node has.
        default_walltime_s: Seconds of a session that names no length.
        max_walltime_s: The longest session in seconds.
        min_gpus: 1, or 0 if the site offers sessions without a GPU.
        partitions: Partitions offered; empty means Slurm's default partition and no choice.
        gpu_types: GPU types, MIG profiles or shards offered; empty means all that Slurm has.
        listed: Names that may be given for each plain option, by its key; none means no choice.
        max_gpus_by_type: Types that have a limit of their own, each with its GPUs in one session.
        set_by: Whose limit is the lowest, for example "the account research"; empty for the site.
    """

    max_gpus: int | None = None
    default_walltime_s: int = _SITE.walltime_s
    max_walltime_s: int = _SITE.max_walltime_s
    min_gpus: int = 1
    partitions: tuple[str, ...] = ()
    gpu_types: tuple[str, ...] = ()
    listed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_gpus_by_type: tuple[tuple[str, int], ...] = ()
    set_by: str = ""

    @property
    def first_walltime_s(self) -> int:
        """Seconds of a session whose user names no length."""
        return min(self.default_walltime_s, self.max_walltime_s)

    def names(self, key: str) -> tuple[str, ...]:
        """Return the names that may be given for a plain option."""
        return self.listed.get(key, ())

    def max_gpus_for(self, gpu_type: str | None) -> int | None:
        """Return the most GPUs of one session, or None for what the largest node has."""
        of_type = dict(self.max_gpus_by_type).get(gpu_type or "")
        known = [limit for limit in (self.max_gpus, of_type) if limit is not None]
        return min(known, default=None)

    def under(self, ceiling: AssociationLimits) -> Limits:
        """Return these limits, lowered to what Slurm's accounting gives the user; never raised."""
        if ceiling.is_open:
            return self
        walltimes_s = (self.max_walltime_s, ceiling.max_walltime_s)
        n_gpus = (self.max_gpus, ceiling.max_gpus)
        return replace(
            self,
            max_gpus=min((n for n in n_gpus if n is not None), default=None),
            max_gpus_by_type=tuple(sorted(ceiling.max_gpus_by_type.items())),
            max_walltime_s=min(time_s for time_s in walltimes_s if time_s is not None),
            set_by=ceiling.of,
        )

    def for_groups(
        self, groups: Iterable[str], group_limits: Mapping[str, Mapping[str, object]]
    ) -> Limits:
        """Return the limits of a user who is in these groups.

        If several groups of the user have a limit, the most generous one counts; a group
        without an entry changes nothing.

        Args:
            group_limits: For each limited group some of "max_gpus" (integer), "max_hours"
                (number) and "partitions" (list of names).

        Returns:
            These limits, lowered; never raised.
        """
        entries = [
            _GroupLimit.parse(name, group_limits[name]) for name in groups if name in group_limits
        ]
        if not entries:
            return self
        most = entries[0]
        for entry in entries[1:]:
            most = most.joined(entry)
        return self._lowered(most)

    def _lowered(self, limit: _GroupLimit) -> Limits:
        limits = self
        if limit.max_gpus is not None and (self.max_gpus is None or limit.max_gpus < self.max_gpus):
            limits = replace(limits, max_gpus=limit.max_gpus)
        if limit.max_walltime_s is not None:
            limits = replace(
                limits, max_walltime_s=min(limits.max_walltime_s, limit.max_walltime_s)
            )
        if limit.partitions is not None:
            offered = limits.partitions or limit.partitions
            allowed = tuple(name for name in offered if name in limit.partitions)
            # An empty tuple would mean Slurm's default partition, which the group may not use.
            if not allowed:
                raise SettingsError(
                    f"A group may use only {', '.join(limit.partitions)}, but the site offers "
                    f"{', '.join(offered)}. Name an offered partition in the group's limits."
                )
            limits = replace(limits, partitions=allowed)
        return limits


@dataclass(frozen=True, slots=True, kw_only=True)
class _GroupLimit:
    """A site's entry for one group; None is no limit."""

    max_gpus: int | None = None
    max_walltime_s: int | None = None
    partitions: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, group: str, entry: Mapping[str, object]) -> _GroupLimit:
        known = ("max_gpus", "max_hours", "partitions")
        for key in entry:
            if key not in known:
                raise SettingsError(f"Unknown limit {key!r} for {group!r}. Use {', '.join(known)}.")
        max_gpus, max_hours = entry.get("max_gpus"), entry.get("max_hours")
        partitions = entry.get("partitions")
        if max_gpus is not None and (type(max_gpus) is not int or max_gpus < 0):
            raise SettingsError(
                f"max_gpus of {group!r} is {max_gpus!r}; give a whole number, 0 or more."
            )
        if max_hours is not None and (
            isinstance(max_hours, bool) or not isinstance(max_hours, int | float) or max_hours <= 0
        ):
            raise SettingsError(f"max_hours of {group!r} is {max_hours!r}; give a number above 0.")
        if partitions is not None and (
            not isinstance(partitions, list | tuple)
            or not partitions
            or not all(isinstance(name, str) for name in partitions)
        ):
            raise SettingsError(f"partitions of {group!r} is {partitions!r}; give a list of names.")
        return cls(
            max_gpus=max_gpus,
            max_walltime_s=None if max_hours is None else int(max_hours * 3600),
            partitions=None if partitions is None else tuple(partitions),
        )

    def joined(self, other: _GroupLimit) -> _GroupLimit:
        """Return the more generous of two, key by key."""
        chosen: dict[str, object] = {}
        for name in (each.name for each in fields(self)):
            mine, theirs = getattr(self, name), getattr(other, name)
            # No limit in one group is the most generous of all.
            if mine is None or theirs is None:
                chosen[name] = None
            elif name == "partitions":
                chosen[name] = tuple(dict.fromkeys((*mine, *theirs)))
            else:
                chosen[name] = max(mine, theirs)
        return _GroupLimit(**chosen)  # type: ignore[arg-type]
