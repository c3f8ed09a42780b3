"""JupyterHub's own database, in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyterhub import orm, roles


@contextmanager
def hub_database(*names: str) -> Iterator[Any]:
    """Yield a session of a database with these users, who may have tokens."""
    db = orm.new_session_factory("sqlite:///:memory:")()
    for role in roles.get_default_roles():
        roles.create_role(db, role)
    db.add(orm.OAuthClient(identifier="jupyterhub"))
    for name in names:
        user = orm.User(name=name)
        db.add(user)
        roles.assign_default_roles(db, user)
    db.commit()
    try:
        yield db
    finally:
        db.close()
