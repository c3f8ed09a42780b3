"""Courses: repositories that a link fetches into the home."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler

from dsportal.slurm.errors import OptionsError
from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.page import Page
from portal.server.base.rest import Route, route
from portal.server.courses.course import Courses
from portal.server.courses.course_link import CourseLink, read_link

_PAGE = Path(__file__).with_name("pages") / "course.html"


def course_route(courses: Courses, hosts: Collection[str]) -> Route:
    """Return REST API `portal/api/courses`. A stranger's link reads; only the page writes."""

    def read(request: APIHandler) -> CourseLink:
        if not hosts:
            raise OptionsError(
                "A link to a course was opened. This portal fetches none: clone the repository in"
                " a terminal."
            )
        names = request.request.query_arguments
        return read_link({name: request.get_query_argument(name) for name in names}, hosts)

    def describe(request: APIHandler) -> Any:
        if "repo" in request.request.query_arguments:
            return read(request)
        hub = f"{os.environ.get('JUPYTERHUB_BASE_URL', '/')}hub/"
        return {"hosts": [*hosts], "link": f"{hub}user-redirect/git-pull"}

    async def fetch(request: APIHandler) -> dict[str, str]:
        course = read(request)
        request.log.info("Fetching %s into %s", course.repository, course.folder)
        await courses.fetch(course)
        return {"url": f"{request.base_url}{course.opened}"}

    return route(r"/portal/api/courses", "contents", get=describe, post=fetch)


def load(shared: Shared) -> Feature:
    """Offer the page and its REST API.

    Source:
        Path and query of the page are those of nbgitpuller, so that links made for it work.
    """
    courses = Courses(Path(shared.server.root_dir))
    return Feature(
        routes=[
            course_route(courses, shared.settings.git.course_hosts),
            (r"/git-pull", Page, {"file": _PAGE, "auth_resource": "contents"}),
        ]
    )


PLUGIN = Plugin(load)
