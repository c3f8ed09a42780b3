"""Courses: repositories that a link fetches into the home."""

from pathlib import Path

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.page import Page
from portal.server.courses.course import Courses
from portal.server.courses.handlers import CoursesHandler

_PAGE = Path(__file__).with_name("pages") / "course.html"


def load(shared: Shared) -> Feature:
    """Offer the page and its REST API.

    Source:
        Path and query of the page are those of nbgitpuller, so that links made for it work.
    """
    courses = Courses(Path(shared.server.root_dir))
    made = {"courses": courses, "hosts": shared.settings.git.course_hosts}
    return Feature(
        routes=[
            (r"/portal/api/courses", CoursesHandler, made),
            (r"/git-pull", Page, {"file": _PAGE, "auth_resource": "contents"}),
        ]
    )


PLUGIN = Plugin(load)
