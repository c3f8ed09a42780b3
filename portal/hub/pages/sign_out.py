"""Signing out: says which sessions remain, and offers to stop them first."""

import asyncio

from jupyterhub.handlers import BaseHandler
from jupyterhub.user import User
from tornado.web import authenticated

from portal.hub.pages.home import SessionCard, describe_cards
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
        self.finish(await self.render_template("sign_out.html", cards=cards))

    @authenticated
    async def post(self) -> None:
        """Stop all sessions of the user, then sign out."""
        user = self.current_user
        names = [card.name for card in remaining_sessions(user)]
        # At once: each stop waits for Slurm.
        await asyncio.gather(*(stop_session(self, user.name, name) for name in names))
        self.redirect(self.settings["logout_url"])


def remaining_sessions(user: User) -> list[SessionCard]:
    """Return the cards of the sessions of a user that wait, start or run."""
    return [card for card in describe_cards(user) if card.is_active and not card.is_stopping]


def sign_out_route() -> tuple[str, type[SignOutHandler]]:
    """Return the route to which the button of all pages leads."""
    return (ROUTE, SignOutHandler)
