"""Turns the settings of [preflight] and [storage] into the spawner's checks before a start."""

from __future__ import annotations

from portal.hub.settings.loader import Settings
from spawner.client.preflight import Preflight, SharedStorage


def make_preflight(settings: Settings) -> Preflight:
    """Return the checks that run before a session's job is queued, with their weights."""
    checks = settings.preflight
    return Preflight(
        home=checks.home,
        shared=tuple(
            SharedStorage(
                name=place.name, path=place.path, weight=place.check, is_mount=place.is_mount
            )
            for place in settings.places
        ),
        server=checks.server,
        server_path=settings.environments.server_program,
        min_free_mib=checks.min_free_mib,
        timeout_s=checks.timeout_s,
    )
