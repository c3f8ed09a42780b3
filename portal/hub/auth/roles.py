"""JupyterHub roles of administrators."""

from typing import Any

from portal.hub.settings.hub import HubSettings

ADMINISTRATOR = "dsportal-administrator"
# To see and stop sessions. Neither access:servers, tokens nor admin:users, with each of which an
# administrator would be any user, and not the starting of sessions in somebody else's name.
ADMINISTRATOR_SCOPES = (
    "admin-ui",
    "list:users",
    "read:users",
    "read:servers",
    "delete:servers",
    "read:metrics",
)
# JupyterHub's own; its scopes cannot be changed.
FULL_ADMINISTRATOR = "admin"


def administrator_roles(hub: HubSettings) -> list[dict[str, Any]]:
    """Return `JupyterHub.load_roles` for administrators, with exactly the members in the settings.

    Returns:
        Both roles, even without members: only so JupyterHub takes a role away from a user who is no
        longer on its list.
    """
    return [
        {
            "name": ADMINISTRATOR,
            "description": "Sees and stops everybody's sessions",
            "scopes": list(ADMINISTRATOR_SCOPES),
            "users": sorted(hub.admin_users),
        },
        {"name": FULL_ADMINISTRATOR, "users": sorted(hub.full_admin_users)},
    ]
