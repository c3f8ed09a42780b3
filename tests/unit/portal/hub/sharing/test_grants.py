"""What guests of sessions may do, over a restart of the hub and no longer than the session."""

from pathlib import Path

import pytest

from portal.hub.sharing.grants import (
    MOST_GRANTS,
    Grant,
    Grants,
    May,
    Rights,
    ShareKind,
    clean_document,
)

NOBODY: frozenset[str] = frozenset()
READS = Grant(kind=ShareKind.USER, name="linus", may=May.READ, document="work/a.ipynb")
WORKS = Grant(kind=ShareKind.GROUP, name="course", may=May.WORK)


@pytest.fixture
def grants() -> Grants:
    grants = Grants(None)
    grants.begin("ada/")
    return grants


def test_grants_outlive_a_restart_of_the_hub(tmp_path: Path) -> None:
    first = Grants(tmp_path / "guests.json")
    first.begin("ada/")
    first.give("ada/", READS)
    first.begin("grace/")
    first.close()
    second = Grants(tmp_path / "guests.json")
    assert second.of("ada/") == (READS,)
    assert second.knows("grace/")
    assert not second.knows("linus/")


def test_grants_end_with_the_session(grants: Grants) -> None:
    grants.give("ada/", READS)
    grants.end_all("ada/")
    grants.begin("ada/")
    assert grants.of("ada/") == ()


def test_a_reader_of_one_notebook_has_nothing_else(grants: Grants) -> None:
    grants.give("ada/", READS)
    assert grants.rights("ada/", "linus", NOBODY) == Rights(documents=("work/a.ipynb",))
    assert grants.rights("ada/", "grace", NOBODY) == Rights()
    assert grants.rights("ada/second", "linus", NOBODY) == Rights()


def test_members_of_a_group_have_what_it_has_while_they_are_in_it(grants: Grants) -> None:
    grants.give("ada/", WORKS)
    assert grants.rights("ada/", "linus", frozenset({"course"})).may_work
    assert grants.rights("ada/", "linus", NOBODY) == Rights()
    # A user who is named like the group is not in it.
    assert grants.rights("ada/", "course", NOBODY) == Rights()


def test_the_end_of_one_grant_leaves_the_others(grants: Grants) -> None:
    every = Grant(kind=ShareKind.USER, name="linus", may=May.READ)
    grants.give("ada/", READS)
    grants.give("ada/", every)
    assert not grants.end("ada/", every)
    assert grants.rights("ada/", "linus", NOBODY) == Rights(documents=("work/a.ipynb",))
    assert grants.end("ada/", READS)


def test_a_session_has_so_many_grants_and_no_more(grants: Grants) -> None:
    for number in range(MOST_GRANTS):
        grant = Grant(kind=ShareKind.USER, name=f"u{number}", may=May.READ)
        assert grants.give("ada/", grant)
    assert not grants.give("ada/", READS)


@pytest.mark.parametrize("text", ['{"ada/": [{"kind": "user"}]}', "[]", "{", '{"ada/": 3}'])
def test_a_damaged_file_lets_nobody_in(tmp_path: Path, text: str) -> None:
    (tmp_path / "guests.json").write_text(text)
    assert Grants(tmp_path / "guests.json").rights("ada/", "linus", NOBODY) == Rights()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("work/a.ipynb", "work/a.ipynb"),
        (" /a b/é.ipynb", "a b/é.ipynb"),
        ("a.py", ""),
        ("../a.ipynb", ""),
        (".hidden/a.ipynb", ""),
        ("work//a.ipynb", ""),
        ("a\x00.ipynb", ""),
        ("x" * 1000 + ".ipynb", ""),
        ("", ""),
    ],
)
def test_only_a_notebook_of_the_session_can_be_named(text: str, path: str) -> None:
    assert clean_document(text) == path
