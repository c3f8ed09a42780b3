"""The way of a login from the hub where the password was given to the one that has the user."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
import time
from pathlib import Path
from typing import Any

from jupyterhub.handlers import BaseHandler
from jupyterhub.utils import url_path_join
from tornado.httputil import url_concat
from tornado.web import Finish

from dsportal.whole_file import write_whole
from portal.hub.hubs.placement import Hubs

COOKIE = "portal-arrival"
# The front end reads it at "/", and sends the browser where its user was before.
HOME_COOKIE = "portal_hub"
ROUTE = "hub/arrive"
LIFE_S = 30.0
_TICKET = re.compile(r"[0-9a-f]{64}", re.ASCII)
# Each hub sends a user on at most once: the one that has him may just have handed him over.
_MOST_STEPS = 2
# Pages of a hub that say nothing of whose they are.
_OWN_PAGES = re.compile(r"(hub/?|hub/(home|login|spawn)([/?].*)?)?", re.ASCII)


class Vouched(dict[str, Any]):
    """A user model of JupyterHub that another hub of this portal vouches for.

    Attributes:
        n_steps: How many hubs have sent the user on.
    """

    n_steps = 1


class Tickets:
    """Logins under way, each in a file that can be taken once.

    A ticket is a random number, of which the file's name shows only the hash. So nobody can make
    one, and whoever reads the folder's listing or a backup has none.

    Args:
        folder: Readable by the hubs' account alone.
        own: Path of this hub.
    """

    def __init__(self, folder: Path, own: str) -> None:
        self._folder = folder / "arrivals"
        self._own = own

    def write(self, model: dict[str, Any], to: str, *, n_steps: int) -> str:
        """Return a ticket with which a hub lets in the user of a model, within seconds."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        now = time.time()
        for left in self._folder.iterdir():
            # Browsers that never arrived.
            with contextlib.suppress(OSError):
                if left.stat().st_mtime < now - 2 * LIFE_S:
                    left.unlink()
        ticket = secrets.token_hex(32)
        text = json.dumps(
            {"model": model, "to": to, "until": now + LIFE_S, "steps": n_steps}, default=str
        )
        write_whole(self._path(ticket), text.encode(), mode=0o600)
        return ticket

    def take(self, ticket: str) -> Vouched | None:
        """Return the model that a ticket is for, once.

        Returns:
            None if it is used up, too old, for another hub, or was never written.
        """
        if not _TICKET.fullmatch(ticket):
            return None
        path = self._path(ticket)
        mine = path.with_suffix(f".{secrets.token_hex(4)}")
        try:
            # Of two requests, one has the file.
            path.rename(mine)
            kept = json.loads(mine.read_bytes())
        except (OSError, ValueError):
            return None
        finally:
            mine.unlink(missing_ok=True)
        if kept["to"] != self._own or kept["until"] < time.time():
            return None
        user = Vouched(kept["model"])
        user.n_steps = int(kept["steps"])
        return user

    def _path(self, ticket: str) -> Path:
        return self._folder / hashlib.sha256(ticket.encode()).hexdigest()


def send_home(hubs: Hubs, handler: BaseHandler, model: dict[str, Any], *, n_steps: int) -> None:
    """Send the browser of a user who has just logged in to the hub that has the user.

    Does nothing if that is this one, or if the way leads to a page that only this one has: a
    session that is shared, the list of all sessions.

    Args:
        handler: JupyterHub's, of the request that logs in.
        model: JupyterHub's user model, which has passed all checks here.
        n_steps: How many hubs have sent the user on before this one.

    Raises:
        Finish: If the browser is on its way.
    """
    name = str(model["name"])
    user = handler.find_user(name)
    is_active = user is not None and bool(user.active)
    home = hubs.settle(name, is_active=is_active)
    if home == hubs.own:
        _set_cookie(handler, HOME_COOKIE, home.strip("/"), path="/")
        return
    rest = _below(hubs.own, handler.get_next_url())
    is_anywhere = _OWN_PAGES.fullmatch(rest) or _is_of(name, rest)
    if is_active or not is_anywhere:
        return
    if n_steps >= _MOST_STEPS:
        handler.log.error(
            "%s stays: the hubs differ in who has the user. Compare their [hubs]", name
        )
        return
    try:
        ticket = Tickets(hubs.folder, hubs.own).write(model, home, n_steps=n_steps + 1)
    except OSError as error:
        # Its pages say where the user's sessions are.
        handler.log.error("%s cannot be sent on to %s: %s", name, home, error)
        return
    # In a cookie: no log and no history of a browser has it, and no link can bring somebody in
    # under another name.
    _set_cookie(handler, COOKIE, ticket, path=f"{home}{ROUTE}", max_age=round(LIFE_S))
    handler.log.info("%s has logged in and goes on to %s", name, home)
    handler.redirect(url_concat(f"{home}{ROUTE}", {"next": f"{home}{rest or 'hub/home'}"}))
    raise Finish


class ArrivalHandler(BaseHandler):
    """Lets in a user whom another hub sends, as after a login here."""

    def initialize(self, hubs: Hubs) -> None:
        """Take the hubs."""
        self._hubs = hubs

    async def get(self) -> None:
        """Log in and go on; without a good ticket the way is that through the login page."""
        ticket = self.get_cookie(COOKIE, "")
        self.clear_cookie(COOKIE, path=f"{self._hubs.own}{ROUTE}")
        model = Tickets(self._hubs.folder, self._hubs.own).take(ticket) if ticket else None
        user = await self.login_user(model) if model else None
        if user is None:
            self.log.warning("An arrival from another hub is refused, and asked to log in here")
            login = url_path_join(self.hub.base_url, "login")
            self.redirect(url_concat(login, {"next": self.get_next_url()}))
            return
        self.redirect(self.get_next_url(user))


def arrival_route(hubs: Hubs) -> tuple[str, type[ArrivalHandler], dict[str, Any]]:
    """Return the route at which users of another hub arrive."""
    return ("/arrive", ArrivalHandler, {"hubs": hubs})


def _below(base: str, url: str) -> str:
    return url.removeprefix(base) if url.startswith(base) else ""


def _is_of(name: str, rest: str) -> bool:
    return f"{rest.removeprefix('hub/')}/".startswith(f"user/{name}/")


def _set_cookie(handler: BaseHandler, name: str, value: str, **options: Any) -> None:
    kept = handler.settings.get("cookie_options", {})
    handler.set_cookie(name, value, httponly=True, **(kept | options))
