"""Several hubs on one Slurm: which of them a user has, and moves from one to another."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from jupyterhub.user import User

from dsportal.whole_file import write_whole
from portal.hub.settings.loader import Settings
from spawner.errors import SiteError
from spawner.hub.session_mixin import SessionMixin
from spawner.session.spawn_error import StartFailedError

_LOG = logging.getLogger("JupyterHub")
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Place:
    """Where the sessions of a moved user are.

    Attributes:
        hub: Path of the hub that has them.
        then: Path of the one that gets them when those that run have ended; empty for none.
    """

    hub: str
    then: str = ""


@dataclass(frozen=True, slots=True)
class Hubs:
    """The hubs of a portal, as one of them sees them.

    Attributes:
        own: Path of this hub, such as "/a/".
        paths: Those of all hubs.
        folder: Theirs, which no other account reads.
    """

    own: str
    paths: tuple[str, ...]
    folder: Path

    @classmethod
    def of(cls, settings: Settings) -> Hubs | None:
        """Return the hubs of a site's settings; None if its hub is alone."""
        if not settings.hubs.paths:
            return None
        return cls(settings.hub.base_url, settings.hubs.paths, settings.hubs.folder)

    def check(self) -> None:
        """Refuse a folder that is missing, or that other accounts could read or change."""
        try:
            status = self.folder.stat()
        except OSError as error:
            raise SiteError(
                f"{self.folder} (folder in [hubs]) cannot be read: {error.strerror}. Make it for"
                " the hubs' account, mode 0700."
            ) from error
        if status.st_mode & _OTHERS or status.st_uid != os.geteuid():
            raise SiteError(
                f"{self.folder} (folder in [hubs]) must belong to the hubs' account alone, mode"
                " 0700: who writes there logs in as anybody."
            )

    def place(self, user: str) -> Place:
        """Return where the sessions of a user are."""
        kept = self._moves().get(user)
        if kept is not None and kept.hub in self.paths:
            return kept if kept.then in self.paths else Place(kept.hub)
        # The highest hash: one more hub takes a part of the users of each, and no others move.
        return Place(max(self.paths, key=lambda path: _digest(f"{path} {user}")))

    def settle(self, user: str, *, is_active: bool) -> str:
        """Return the path of a user's hub, and finish a move away from this one if it may end.

        Args:
            is_active: Whether the user has a session at this hub.
        """
        place = self.place(user)
        if place.hub != self.own or not place.then or is_active:
            return place.hub
        try:
            return self.move(user, place.then, at_once=True).hub
        except OSError as error:
            _LOG.error("%s stays at %s for now: %s", user, self.own, error)
            return place.hub

    def move(self, user: str, to: str, *, at_once: bool) -> Place:
        """Give a user to another hub, and return where the sessions are now.

        Args:
            at_once: If not, the hub that has the user hands over once no session runs there.
        """
        with self._alone():
            moves = self._moves()
            now = self.place(user)
            moves[user] = Place(to) if at_once or now.hub == to else Place(now.hub, to)
            text = json.dumps({name: asdict(place) for name, place in sorted(moves.items())})
            write_whole(self._moves_path, text.encode(), mode=0o600, survives_power_loss=True)
        return moves[user]

    def refuse(self, spawner: SessionMixin) -> None:
        """Refuse the start of a session of another hub's user; the spawner's `pre_spawn_hook`."""
        others = (one for one in spawner.user.spawners.values() if one is not spawner)
        home = self.settle(spawner.user.name, is_active=any(one.active for one in others))
        if home != self.own:
            raise StartFailedError(
                SiteError(f"Your sessions start at {home} of this portal, not at {self.own}.")
            )

    def hand_over(self, spawner: SessionMixin) -> None:
        """Finish a move now that a session has ended; the spawner's `post_stop_hook`."""
        others = (one for one in spawner.user.spawners.values() if one is not spawner)
        self.settle(spawner.user.name, is_active=any(one.active for one in others))

    def elsewhere(self, user: User) -> str:
        """Return the path of a user's hub; empty if it is this one.

        `user` is JupyterHub's, or None if nobody is logged in.
        """
        home = self.own if user is None else self.place(user.name).hub
        return "" if home == self.own else home

    @property
    def _moves_path(self) -> Path:
        return self.folder / "moves.json"

    def _moves(self) -> dict[str, Place]:
        try:
            kept = json.loads(self._moves_path.read_text(encoding="utf-8"))
            return {name: Place(place["hub"], place["then"]) for name, place in kept.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            # Users who were not moved are served as ever.
            _LOG.error("Moved users are not known: %s: %s", self._moves_path, error)
            return {}

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with (self.folder / "moves.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
