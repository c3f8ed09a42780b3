"""The page of a class, for its teachers: whose session runs, whose waits and why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyterhub import orm
from jupyterhub.handlers import BaseHandler
from jupyterhub.user import User
from tornado.web import HTTPError, authenticated

from portal.hub.pages.administration import STOPS_SESSIONS
from portal.hub.pages.session_state import SessionView, describe_session
from portal.hub.settings.limits import GroupSettings

# Those who need help come first: what waits, what is off, what runs.
_ORDER = {"wait": 0, "off": 1, "good": 2}


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody in the class, with one of their sessions.

    Attributes:
        session: Name of the session; empty for the one without.
    """

    name: str
    session: str
    view: SessionView


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassView:
    """The variable `lesson` in the template.

    Attributes:
        group: Name of the UNIX group.
        members: Those who have logged in before; those who need help first.
    """

    group: str
    members: tuple[Member, ...]

    def count(self, tone: str) -> int:
        """Return how many sessions have a state of this tone: "good", "wait" or "off"."""
        return sum(one.view.tone == tone for one in self.members)


def describe_class(group: str, users: Iterable[Any]) -> ClassView:
    """Return the class of a group; `users` are JupyterHub's."""
    members = [
        Member(user.name, spawner.name, describe_session(spawner))
        for user in users
        for spawner in _sessions(user)
    ]
    members.sort(key=lambda one: (_ORDER[one.view.tone], one.name, one.session))
    return ClassView(group=group, members=tuple(members))


def _sessions(user: User) -> list[Any]:
    named = [one for one in user.spawners.values() if one.active and one.name]
    return [user.spawner, *named]


class ClassHandler(BaseHandler):
    """Shows teachers the sessions of their class."""

    def initialize(self, groups: Mapping[str, GroupSettings]) -> None:
        """Take the groups of the settings, by name."""
        self._groups = groups

    @authenticated
    async def get(self, name: str) -> None:
        """Show the page."""
        group = self._groups.get(name)
        is_teacher = group is not None and self.current_user.name in group.teachers
        is_administrator = STOPS_SESSIONS in self.expanded_scopes
        if group is None or not (is_teacher or is_administrator):
            raise HTTPError(404, "There is no such class, or you are not one of its teachers.")
        known = orm.Group.find(self.db, name)
        users = [self.users[one.id] for one in known.users] if known else []
        lesson = describe_class(name, users)
        self.finish(await self.render_template("class.html", lesson=lesson))


def classes_of(groups: Mapping[str, GroupSettings], name: str) -> list[str]:
    """Return the groups that a user teaches."""
    return [group for group, one in groups.items() if name in one.teachers]


def class_route(groups: Mapping[str, GroupSettings]) -> tuple[Any, ...]:
    """Return the route of this module for `JupyterHub.extra_handlers`."""
    return (r"/class/([^/]+)", ClassHandler, {"groups": groups})
