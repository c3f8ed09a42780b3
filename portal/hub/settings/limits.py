"""The tables [groups.NAME] and [users.NAME] of portal.toml: limits."""

from dataclasses import dataclass

from portal.settings.validators import check_user_names
from spawner.settings.choices import check_slurm_names
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """Lower limits of a user, in place of those of groups."""

    max_gpus: int = setting(
        "Most GPUs of one session. 0: no limit of its own.",
        default=0,
        example=1,
        lowest=0,
        highest=1024,
    )
    max_hours: float = setting(
        "Longest session, in hours. 0: no limit of its own.",
        default=0.0,
        example=4.0,
        lowest=0,
        highest=8760,
    )
    partitions: tuple[str, ...] = setting(
        "The only partitions offered. Empty: all of the site's.",
        default=(),
        check=check_slurm_names,
    )

    @property
    def entry(self) -> dict[str, object]:
        """What is limited, in the form of the spawner's `group_limits`."""
        own: dict[str, object] = {
            "max_gpus": self.max_gpus,
            "max_hours": self.max_hours,
            "partitions": list(self.partitions),
        }
        # 0 and an empty list are "no limit of its own".
        return {name: limit for name, limit in own.items() if limit}


@dataclass(frozen=True, kw_only=True)
class GroupSettings(LimitSettings):
    """Lower limits for the members of a UNIX group, and who teaches them.

    If a user is in several groups, the most generous limit counts; a user's own replaces them.
    """

    teachers: tuple[str, ...] = setting(
        "Users who see the sessions of the members: who runs, who waits and why.",
        default=(),
        example=("grace",),
        check=check_user_names,
    )
