"""Sessions as administrators' and cluster pages list them."""

from typing import Any

from portal.hub.pages.all_sessions import SessionRow


def session_row(name: str, **changes: Any) -> SessionRow:
    """Return a running session of a user, as the pages list it, with these changes."""
    known: dict[str, Any] = {
        "user": name,
        "name": "",
        "n_gpus": 1,
        "node": "node01",
        "partition": "jupyter",
        "state": "running",
        "since_s": 60.0,
        "left_s": 3600,
        "idle_s": 0.0,
        "job_id": 7,
    }
    return SessionRow(**known | changes)
