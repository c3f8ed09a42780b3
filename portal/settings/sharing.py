"""The table [sharing] of portal.toml."""

from dataclasses import dataclass

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class SharingSettings:
    """Sessions that their users share with colleagues."""

    enabled: bool = setting(
        "Whether users may let colleagues or groups into their running sessions, to read notebooks,"
        " or to work: these run code as the session's owner and can read and change all of the"
        " owner's files. What the owner's"
        " notebooks show runs in the colleagues' browsers: set subdomain_host of [hub], too, unless"
        " all users trust each other.",
        default=False,
    )
