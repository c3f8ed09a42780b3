"""The look for a user in the hub's database."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyterhub import orm
from sqlalchemy import event
from sqlalchemy.orm import Session

from spawner.hub.patches.orm_user import load_relations_at_use


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Session]:
    load_relations_at_use()
    with orm.new_session_factory(f"sqlite:///{tmp_path}/hub.sqlite", reset=True)() as db:
        role, group = orm.Role(name="user"), orm.Group(name="vision")
        db.add_all([role, group])
        for name in ("ada", "grace"):
            user = orm.User(name=name)
            user.roles.append(role)
            user.groups.append(group)
            db.add(user)
        db.commit()
        db.expunge_all()
        yield db


@pytest.fixture
def queries(db: Session) -> list[str]:
    found: list[str] = []
    event.listen(
        db.get_bind(), "before_cursor_execute", lambda _c, _u, text, *_: found.append(text)
    )
    return found


def test_a_user_is_found_by_one_query_and_keeps_roles_and_groups(
    db: Session, queries: list[str]
) -> None:
    held = orm.User.find(db, "ada")
    assert ([role.name for role in held.roles], [group.name for group in held.groups]) == (
        ["user"],
        ["vision"],
    )
    queries.clear()
    found = orm.User.find(db, "ada")
    assert (found, [role.name for role in found.roles]) == (held, ["user"])
    assert len(queries) == 1


def test_a_list_of_users_has_the_roles_of_all_in_one_query(db: Session, queries: list[str]) -> None:
    users = db.query(orm.User).all()
    queries.clear()
    assert [role.name for user in users for role in user.roles] == ["user", "user"]
    assert queries == []


def test_a_look_for_one_column_is_left_alone(db: Session) -> None:
    assert db.query(orm.User.name).order_by(orm.User.name).first() == ("ada",)
