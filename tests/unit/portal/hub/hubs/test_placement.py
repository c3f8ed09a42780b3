"""Which hub has a user, and what a move changes."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from portal.hub.hubs.placement import Hubs, Place
from spawner.errors import SiteError
from spawner.session.spawn_error import StartFailedError

PATHS = ("/a/", "/b/", "/c/")
NAMES = [f"user{number:03}" for number in range(300)]


@pytest.fixture
def hubs(tmp_path: Path) -> dict[str, Hubs]:
    """Three hubs, each as it sees all."""
    return {path: Hubs(path, PATHS, tmp_path) for path in PATHS}


def user_of(hubs: dict[str, Hubs], path: str) -> str:
    return next(name for name in NAMES if hubs["/a/"].place(name).hub == path)


def spawner_of(user: str, *, other_is_active: bool = False) -> SimpleNamespace:
    own, other = SimpleNamespace(active=True), SimpleNamespace(active=other_is_active)
    own.user = SimpleNamespace(name=user, spawners={"": own, "other": other})
    return own


def test_all_hubs_agree_and_each_has_its_part(hubs: dict[str, Hubs]) -> None:
    places = [{name: one.place(name) for name in NAMES} for one in hubs.values()]

    assert places[0] == places[1] == places[2]
    for path in PATHS:
        assert 60 < sum(place.hub == path for place in places[0].values()) < 140


def test_one_hub_more_moves_users_only_to_itself(hubs: dict[str, Hubs], tmp_path: Path) -> None:
    more = Hubs("/a/", (*PATHS, "/d/"), tmp_path)

    moved = {name for name in NAMES if more.place(name) != hubs["/a/"].place(name)}

    assert 40 < len(moved) < 110
    assert {more.place(name).hub for name in moved} == {"/d/"}


def test_a_user_stays_until_the_last_session_has_ended(hubs: dict[str, Hubs]) -> None:
    user = user_of(hubs, "/a/")
    hubs["/c/"].move(user, "/b/", at_once=False)

    assert hubs["/b/"].place(user) == Place("/a/", "/b/")
    # Only the hub with the sessions knows whether there are any.
    assert hubs["/b/"].settle(user, is_active=False) == "/a/"
    assert hubs["/a/"].settle(user, is_active=True) == "/a/"
    hubs["/a/"].hand_over(spawner_of(user, other_is_active=True))
    assert hubs["/c/"].place(user).hub == "/a/"

    hubs["/a/"].hand_over(spawner_of(user))

    assert {one.place(user) for one in hubs.values()} == {Place("/b/")}


def test_a_move_at_once_waits_for_nothing_and_one_back_is_a_move(hubs: dict[str, Hubs]) -> None:
    user = user_of(hubs, "/a/")

    assert hubs["/a/"].move(user, "/b/", at_once=True) == Place("/b/")
    assert hubs["/a/"].move(user, "/a/", at_once=False) == Place("/b/", "/a/")
    # Thought better of it.
    assert hubs["/a/"].move(user, "/b/", at_once=False) == Place("/b/")


def test_a_session_starts_at_the_hub_of_its_user_alone(hubs: dict[str, Hubs]) -> None:
    user = user_of(hubs, "/b/")

    hubs["/b/"].refuse(spawner_of(user))
    with pytest.raises(StartFailedError):
        hubs["/a/"].refuse(spawner_of(user))


def test_pages_of_another_hub_know_where_their_user_is(hubs: dict[str, Hubs]) -> None:
    user = SimpleNamespace(name=user_of(hubs, "/b/"))

    assert hubs["/b/"].elsewhere(user) == hubs["/a/"].elsewhere(None) == ""
    assert hubs["/a/"].elsewhere(user) == "/b/"


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"NAME": "/b/"}', '{"NAME": {"hub": "/x/", "then": ""}}', '{"NAME": {"hub": 1}}'],
)
def test_a_damaged_list_of_moves_moves_nobody(
    hubs: dict[str, Hubs], tmp_path: Path, text: str
) -> None:
    user = user_of(hubs, "/a/")
    (tmp_path / "moves.json").write_text(text.replace("NAME", user))

    assert hubs["/a/"].place(user) == Place("/a/")


def test_a_folder_that_others_could_write_is_refused(hubs: dict[str, Hubs], tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    hubs["/a/"].check()

    for mode in (0o770, 0o702, 0o704):
        tmp_path.chmod(mode)
        with pytest.raises(SiteError):
            hubs["/a/"].check()
    with pytest.raises(SiteError):
        Hubs("/a/", PATHS, tmp_path / "none").check()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_account_is_refused(hubs: dict[str, Hubs], tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.chown(tmp_path, 65534, 65534)

    with pytest.raises(SiteError):
        hubs["/a/"].check()
