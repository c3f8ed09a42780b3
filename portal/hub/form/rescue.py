"""The rescue session as the form shows it: for users whose home is full or in the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsportal.amounts import count, format_duration
from portal.hub.formatting import format_memory
from spawner.settings.rescue import RescueSettings
from spawner.settings.traits import read_traits


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescue:
    """Resources of a rescue session, formatted.

    Attributes:
        cores: For example "1 core".
        memory: For example "2 GB".
        hours: For example "1 hour".
    """

    cores: str
    memory: str
    hours: str

    @classmethod
    def of(cls, traits: Any) -> Rescue:
        """Return the rescue session that the operator's settings in `traits` allow."""
        rescue = read_traits(traits, RescueSettings)
        return cls(
            cores=count(rescue.rescue_cores, "core"),
            memory=format_memory(rescue.rescue_memory_mib),
            hours=format_duration(rescue.rescue_walltime_s),
        )
