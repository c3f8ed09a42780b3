"""What administrators may do, and that what a database holds of them does not stay."""

from collections.abc import Callable

import pytest
from jupyterhub import orm, roles, scopes
from jupyterhub.app import JupyterHub
from traitlets.config import Config

from portal.hub.apply import apply_settings
from portal.hub.settings.loader import Settings

Load = Callable[[str], Settings]


async def database_after_a_start(
    settings: Settings, before: Callable[[JupyterHub], None]
) -> orm.User:
    """Return grace as a hub has her that was started on a database."""
    config = Config()
    apply_settings(config, settings)
    hub = JupyterHub(config=config, db_url="sqlite:///:memory:")
    hub.init_db()
    hub.authenticator = hub.authenticator_class(parent=hub)
    for role in roles.get_default_roles():
        roles.create_role(hub.db, role)
    before(hub)
    await hub.init_role_creation()
    await hub.init_users()
    await hub.init_role_assignment()
    return orm.User.find(hub.db, "grace")


def nothing(_: JupyterHub) -> None:
    """Leave the database empty."""


def as_earlier_versions_left_it(hub: JupyterHub) -> None:
    """Make grace what `admin_users` made her until now."""
    grace = orm.User(name="grace", admin=True)
    hub.db.add(grace)
    roles.assign_default_roles(hub.db, grace)
    hub.db.commit()


def may(user: orm.User, scope: str) -> bool:
    return scope in scopes.get_scopes_for(user)


@pytest.mark.parametrize("before", [nothing, as_earlier_versions_left_it])
async def test_an_administrator_sees_and_stops_sessions_and_is_nobody_else(
    load: Load, minimal_toml: str, before: Callable[[JupyterHub], None]
) -> None:
    settings = load(minimal_toml.replace("[hub]\n", '[hub]\nadmin_users = ["grace"]\n'))

    grace = await database_after_a_start(settings, before)

    assert not grace.admin
    for scope in ("admin-ui", "list:users", "read:servers", "delete:servers", "read:metrics"):
        assert may(grace, scope), scope
    for scope in ("access:servers", "servers", "tokens", "admin:users", "shutdown", "proxy"):
        assert not may(grace, scope), scope


@pytest.mark.parametrize("before", [nothing, as_earlier_versions_left_it])
async def test_a_full_administrator_is_one_of_jupyterhub(
    load: Load, minimal_toml: str, before: Callable[[JupyterHub], None]
) -> None:
    settings = load(minimal_toml.replace("[hub]\n", '[hub]\nfull_admin_users = ["grace"]\n'))

    grace = await database_after_a_start(settings, before)

    assert grace.admin
    assert may(grace, "access:servers")


async def test_who_is_on_no_list_any_more_is_no_administrator_after_the_next_start(
    load: Load, minimal_toml: str
) -> None:
    grace = await database_after_a_start(load(minimal_toml), as_earlier_versions_left_it)

    assert not grace.admin
    assert not may(grace, "list:users")
