"""Signing out: says which sessions remain, and offers to stop them first."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jupyterhub.handlers import BaseHandler
from tornado.web import authenticated

from portal.hub.pages.home import SessionCard, describe_cards
from portal.hub.pages.session_state import SessionView
from portal.hub.pages.stop_handler import stop_session

ROUTE = r"/portal/sign-out"


class SignOutHandler(BaseHandler):
    """Asks before a sign-out that leaves sessions behind; Tornado checks the POST's XSRF token."""

    @authenticated
    async def get(self) -> None:
        """Show the sessions that remain; without any, sign out at once."""
        cards = remaining_sessions(self.current_user)
        if not cards:
            self.redirect(self.settings["logout_url"])
            return
        words = describe_remaining([card.view for card in cards])
        self.finish(await self.render_template("sign_out.html", cards=cards, words=words))

    @authenticated
    async def post(self) -> None:
        """Stop all sessions of the user, then sign out."""
        user = self.current_user
        names = [card.name for card in remaining_sessions(user)]
        # At once: each stop waits for Slurm.
        await asyncio.gather(*(stop_session(self, user.name, name) for name in names))
        self.redirect(self.settings["logout_url"])


def remaining_sessions(user: Any) -> list[SessionCard]:
    """Return the cards of the sessions of a user that wait, start or run."""
    return [card for card in describe_cards(user) if card.is_active and not card.is_stopping]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the page says of the sessions together.

    Attributes:
        keep: The button that leaves them.
        stop: The button that stops them first.
    """

    lead: str
    keep: str
    stop: str


def describe_remaining(sessions: Sequence[SessionView]) -> Words:
    """Return what becomes of `sessions`, one or more, when their user signs out."""
    n_queued = sum(session.is_queued for session in sessions)
    if len(sessions) > 1:
        end = "Those that run hold their GPUs and those of their kernels"
        if n_queued:
            end += ", and those that wait start when there is room for them"
        return Words(
            lead=f"Your sessions remain after you have signed out. {end}.",
            keep="Sign out and keep them",
            stop="Stop them and sign out",
        )
    if n_queued:
        return Words(
            lead="Your session keeps its place in the queue after you have signed out. "
            "It starts when there is room for it, and holds its GPUs from then on.",
            keep="Sign out and keep it waiting",
            stop="Cancel it and sign out",
        )
    return Words(
        lead="Your session keeps running after you have signed out, and holds its GPUs and those "
        "of its kernels.",
        keep="Sign out and keep it running",
        stop="Stop it and sign out",
    )


def sign_out_route() -> tuple[str, type[SignOutHandler]]:
    """Return the route to which the button of all pages leads."""
    return (ROUTE, SignOutHandler)
