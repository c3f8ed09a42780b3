"""A restarted hub takes its sessions up with a few queries, however many there are."""

from collections.abc import Iterator
from datetime import datetime
from types import SimpleNamespace

import pytest
from jupyterhub import orm
from jupyterhub.app import JupyterHub
from sqlalchemy import event
from sqlalchemy.orm import Session as Database

from spawner.hub.patches import application
from spawner.hub.patches.application import before_sessions, load_clients, load_users_with_sessions


@pytest.fixture
def database() -> Iterator[Database]:
    session: Database = orm.new_session_factory("sqlite:///:memory:")()
    yield session
    session.close()


def add_user(database: Database, name: str, *, is_running: bool) -> None:
    server = orm.Server(proto="http", ip="127.0.0.1", port=80, base_url="/") if is_running else None
    user = orm.User(name=name)
    client = orm.OAuthClient(identifier=f"jupyterhub-user-{name}")
    database.add(orm.Spawner(name="", user=user, server=server, oauth_client=client))
    database.commit()


def count_queries(database: Database) -> int:
    """Return the queries for taking up all running sessions, as JupyterHub does it.

    The first look at the proxy notes when they were used.
    """
    n_queries = 0

    def count(*_: object) -> None:
        nonlocal n_queries
        n_queries += 1

    engine = database.get_bind()
    database.expunge_all()
    event.listen(engine, "before_cursor_execute", count)
    try:
        users = load_users_with_sessions(database)
        running = database.query(orm.Spawner).filter(orm.Spawner.server_id.is_not(None))
        spawners = running.populate_existing().all()
        for spawner in spawners:
            assert spawner.user in users
            assert [*spawner.user.orm_spawners.values()] == [spawner]
            assert spawner.server.port == 80
        load_clients(database)
        for spawner in spawners:
            spawner.last_activity = datetime.now()
        # Their rows are written by one statement.
        database.commit()
    finally:
        event.remove(engine, "before_cursor_execute", count)
    return n_queries


def test_more_sessions_need_no_more_queries(database: Database) -> None:
    for number in range(2):
        add_user(database, f"a{number}", is_running=True)
    n_for_two = count_queries(database)
    for number in range(50):
        add_user(database, f"b{number}", is_running=True)

    assert count_queries(database) == n_for_two


def test_users_without_a_session_are_not_loaded(database: Database) -> None:
    add_user(database, "ada", is_running=True)
    add_user(database, "grace", is_running=False)

    assert [user.name for user in load_users_with_sessions(database)] == ["ada"]


async def test_checks_come_first_and_the_hub_still_learns_how_many_sessions_it_took_up(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    async def three(_hub: object) -> int:
        done.append("sessions")
        return 3

    async def check(_hub: object) -> None:
        done.append("check")

    monkeypatch.setattr(application, "_checks", {})
    monkeypatch.setattr(JupyterHub, "init_spawners", three)
    before_sessions(check)
    before_sessions(check)

    assert await JupyterHub.init_spawners(SimpleNamespace(db=database)) == 3
    assert done == ["check", "sessions"]
