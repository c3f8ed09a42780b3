"""Tokens of a group's members, in a database of JupyterHub's own."""

from collections.abc import Iterator
from typing import Any

import pytest
from jupyterhub import orm, roles, scopes

from spawner.hub.patches.scopes import with_groups

ACCESS = "access:servers!server=ada/"


class Hub:
    """A session of ada that is shared with a group, of which grace is a member."""

    def __init__(self, db: Any) -> None:
        self.db = db
        roles.create_role(db, {"name": "user", "scopes": ["self"]})
        roles.create_role(db, {"name": "token", "scopes": ["inherit"]})
        ada, self.grace = orm.User(name="ada"), orm.User(name="grace")
        self.course = orm.Group(name="course", users=[self.grace])
        spawner = orm.Spawner(name="", user=ada)
        self.clients = [
            orm.OAuthClient(identifier=f"jupyterhub-user-{name}") for name in ("ada", "linus")
        ]
        spawner.oauth_client = self.clients[0]
        other = orm.Spawner(name="", user=orm.User(name="linus"), oauth_client=self.clients[1])
        db.add_all([ada, self.grace, self.course, spawner, other, *self.clients])
        db.add(orm.OAuthClient(identifier="jupyterhub"))
        db.commit()
        orm.Share.grant(db, spawner, self.course)

    def token(self, client: str, *wanted: str) -> Any:
        """Return a token of grace that a client got for her."""
        token = self.grace.new_api_token(scopes=list(wanted), oauth_client=None, client_id=client)
        return orm.APIToken.find(self.db, token)


@pytest.fixture
def hub() -> Iterator[Hub]:
    session = orm.new_session_factory("sqlite:///:memory:")()
    yield Hub(session)
    session.close()


def may_enter(token: Any) -> bool:
    return ACCESS in with_groups(scopes.get_scopes_for)(token)


def test_a_member_may_enter_with_the_token_of_the_session(hub: Hub) -> None:
    token = hub.token("jupyterhub-user-ada")
    assert may_enter(token)
    hub.grace.groups.remove(hub.course)
    assert not may_enter(token)


def test_what_another_session_got_opens_this_one_no_more_than_before(hub: Hub) -> None:
    assert not may_enter(hub.token("jupyterhub-user-linus"))


def test_a_token_of_ones_own_may_what_it_was_made_for(hub: Hub) -> None:
    assert may_enter(hub.token("jupyterhub", "inherit"))
    assert may_enter(hub.token("jupyterhub", ACCESS))
    assert not may_enter(hub.token("jupyterhub"))


def test_users_keep_what_they_had(hub: Hub) -> None:
    plain = scopes.get_scopes_for
    assert with_groups(plain)(hub.grace) == plain(hub.grace)
