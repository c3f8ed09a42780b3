"""The API route where a session's server reports that idle GPUs of a kernel were given back."""

import math
import re
from typing import Annotated

from jupyterhub.apihandlers import APIHandler
from pydantic import BaseModel, Field

from dsportal.amounts import format_duration
from spawner.hub.port_api import read_report, spawner_of_token
from spawner.hub.session_mixin import SessionMixin

ROUTE = "/api/dsportal/given-back"
_KEPT, _TAKEN_AT = "gpus_given_back", "gpus_given_back_taken_at"
# Reports that wait for the next look; a session could send any number.
_MOST_REPORTS = 5
# A session could fill the mailbox of whoever's address its user has named.
_PAUSE_S = 600.0
# It goes into mail, so nothing that a reader could click on.
_NOTEBOOK = re.compile(r"[\w .()+-]{1,80}")
_LONGEST_S = 366 * 86_400


class GivenBackReport(BaseModel, strict=True):
    """That the kernel of a notebook lost its GPUs after so many idle seconds."""

    notebook: str
    idle_s: Annotated[int, Field(ge=0, le=_LONGEST_S)]

    @property
    def sentence(self) -> str:
        """What the user is told of it."""
        name = self.notebook if _NOTEBOOK.fullmatch(self.notebook) else "a notebook"
        return (
            f"The GPUs of {name} did nothing for {format_duration(self.idle_s)}, so they are given"
            " back. Its kernel goes on in the session, without them."
        )


class GivenBackHandler(APIHandler):
    """Takes `{"notebook": NAME, "idle_s": N}` from a session."""

    async def post(self) -> None:
        """Keep it for the next look at the session: 204."""
        spawner = spawner_of_token(self)
        report = read_report(self, GivenBackReport, '{"notebook": NAME, "idle_s": N}')
        keep_report(spawner, report.sentence)
        self.set_status(204)


def keep_report(spawner: SessionMixin, sentence: str) -> None:
    """Keep a report for the next look at the session of a spawner."""
    kept = spawner.__dict__.setdefault(_KEPT, [])
    kept.append(sentence)
    del kept[:-_MOST_REPORTS]


def take_reports(spawner: SessionMixin, *, at: float) -> list[str]:
    """Return what the session of a spawner has reported, in sentences, once in ten minutes.

    Args:
        spawner: That of the session.
        at: Now, in seconds since 1970 (UTC).
    """
    known = spawner.__dict__
    if at < known.get(_TAKEN_AT, -math.inf) + _PAUSE_S or _KEPT not in known:
        return []
    known[_TAKEN_AT] = at
    return list(known.pop(_KEPT))


def given_back_route() -> tuple[str, type[GivenBackHandler]]:
    """Return the route to which sessions report GPUs that were given back."""
    return (ROUTE, GivenBackHandler)
