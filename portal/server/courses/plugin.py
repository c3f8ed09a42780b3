"""Courses: repositories that a link fetches into the home."""

import json
import os
from collections.abc import Collection
from pathlib import Path

from jupyter_server.base.handlers import APIHandler

from dsportal.slurm.errors import OptionsError
from portal.server.base.authorization import RouteArguments, for_the_user
from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.page import Page
from portal.server.courses.course import Courses
from portal.server.courses.course_link import CourseLink, read_link

_PAGE = Path(__file__).with_name("pages") / "course.html"


class CoursesHandler(RouteArguments, APIHandler):
    """REST API `portal/api/courses`. A stranger's link reads; only the page's button writes."""

    auth_resource = "contents"
    courses: Courses
    hosts: Collection[str]

    @for_the_user
    async def get(self) -> None:
        """Say what the link in the query would fetch, or without one how links begin."""
        if "repo" not in self.request.query_arguments:
            hub = f"{os.environ.get('JUPYTERHUB_BASE_URL', '/')}hub/"
            link = f"{hub}user-redirect/git-pull"
            self.finish(json.dumps({"hosts": [*self.hosts], "link": link}))
            return
        self.finish(json.dumps(self._course().as_json()))

    @for_the_user
    async def post(self) -> None:
        """Fetch what the link in the query names: `{"url": page to open}`."""
        course = self._course()
        self.log.info("Fetching %s into %s", course.repository, course.folder)
        await self.courses.fetch(course)
        self.finish(json.dumps({"url": f"{self.base_url}{course.opened}"}))

    def _course(self) -> CourseLink:
        if not self.hosts:
            raise OptionsError(
                "A link to a course was opened. This portal fetches none: clone the repository in"
                " a terminal."
            )
        query = {name: self.get_query_argument(name) for name in self.request.query_arguments}
        return read_link(query, self.hosts)


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
