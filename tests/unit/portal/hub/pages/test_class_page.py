"""What a teacher sees of the sessions of a class."""

from types import SimpleNamespace
from typing import Any

from portal.hub.pages.class_page import describe_class
from spawner.session.progress import Progress
from tests.unit.portal.hub.pages.test_session_state import spawner


def user(name: str, **changes: Any) -> Any:
    first = spawner(name="", **changes)
    return SimpleNamespace(name=name, spawner=first, spawners={"": first})


def test_who_waits_comes_first_with_the_reason_and_who_runs_last() -> None:
    progress = Progress()
    progress.add_step("queued", 30, "All GPUs of the partition are taken.")
    waiting = user("ada", pending="spawn", start_progress=progress)
    several = user("grace")
    several.spawners["more"] = spawner(name="more")
    several.spawners["old"] = spawner(name="old", active=False)

    lesson = describe_class("course", [several, user("linus", active=False), waiting])

    assert [(one.name, one.session, one.view.tone) for one in lesson.members] == [
        ("ada", "", "wait"),
        ("linus", "", "off"),
        ("grace", "", "good"),
        ("grace", "more", "good"),
    ]
    assert lesson.members[0].view.sentence == "All GPUs of the partition are taken."
    assert (lesson.count("good"), lesson.count("wait"), lesson.count("off")) == (2, 1, 1)
