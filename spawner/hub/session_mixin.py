"""The spawner's part that pages, routes and metrics use: the session that starts or runs."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from jupyterhub.spawner import Spawner
from traitlets import default

from dsportal.slurm.states import JobState
from spawner.certificates import AUTHORITY_VARIABLE, authority_fingerprint, read_authority
from spawner.hub.options_mixin import OptionsMixin
from spawner.session.progress import Progress
from spawner.session.session import Session
from spawner.session.session_job import SessionJob
from spawner.session_settings import LIMITS, OTHER_CLUSTERS, VARIABLE, plain_table
from spawner.settings.resources import ResourceSettings
from spawner.settings.traits import read_traits
from spawner.slurm.jobs import JobRecord
from spawner.unwritable_database import DatabaseLockedError

# While another program holds the database.
SAVE_AGAIN_S = 1.0


class SessionMixin(OptionsMixin):
    """Shows the session, tells its server what it needs, and takes what that reports.

    `_progress` is that of the start, `_job` is the session's job, None without a session.
    """

    _progress: Progress
    _job: SessionJob | None = None

    @default("server_token_scopes")
    def _server_token_scopes_default(self) -> list[str]:
        # Those of JupyterHub's role "server", and one by which terminals list the user's sessions.
        return ["users:activity!user", "access:servers!server", "read:servers!user"]

    @property
    def session(self) -> Session | None:
        """The session that starts or runs; None if there is none."""
        return None if self._job is None else self._job.session

    @property
    def job_record(self) -> JobRecord | None:
        """Slurm's last answer about the session's job."""
        return None if self._job is None else self._job.record

    @property
    def left_s(self) -> int | None:
        """Seconds until the session's time limit; None if it does not run or has no limit."""
        return None if self._job is None else self._job.left_s

    @property
    def is_suspended(self) -> bool:
        """Whether Slurm has suspended the session's processes until somebody resumes them."""
        record = self.job_record
        return record is not None and record.state is JobState.SUSPENDED

    @property
    def start_progress(self) -> Progress:
        """The steps of the start so far, and its live status."""
        return self._progress

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the steps of the start, for JupyterHub's page.

        Yields:
            "progress" in percent, "message" as a sentence, "step" by its name, "at" in seconds
            since 1970, "facts" at that moment, and whether the step "is_new".
        """
        async for news in self._progress.news():
            yield news.to_event()

    @property
    def certificate(self) -> str:
        """Certificate of the session's server, as PEM; empty for plain HTTP."""
        return "" if self._job is None else self._job.session.certificate

    @property
    def needs_certificate(self) -> bool:
        """Whether the session's server has to report a certificate."""
        return self._job is not None and self._job.session.has_tls

    @property
    def authority(self) -> str:
        """Fingerprint of the portal's present authority; empty for none, or without TLS."""
        folder = self.certificates_dir
        return authority_fingerprint(Path(folder)) if folder else ""

    @property
    def has_other_authority(self) -> bool:
        """Whether its server accepts only the hub of an authority that was replaced since."""
        session = self.session
        known = session.authority if session is not None else ""
        return bool(known and self.authority) and known != self.authority

    @property
    def lacks_certificate(self) -> bool:
        """Whether its server should have a certificate and none is known, so nobody is sent there.

        Without a session too: what the hub's database then says of a server is not true any more.
        """
        session = self.session
        has_tls = bool(self.certificates_dir) if session is None else session.has_tls
        return has_tls and not self.certificate

    def owns_token(self, token_id: int) -> bool:
        """Return whether the session's server holds this token; false also without a session.

        Args:
            token_id: Row of the token in the hub's database; 0 for none.
        """
        return self._job is not None and self._job.session.token_id == token_id != 0

    def take_port(self, port: int, certificate: str = "") -> bool:
        """Take the port and certificate that the server reports; see `SessionJob.take_port`."""
        return self._job is not None and self._job.take_port(port, certificate)

    def poll_soon(self) -> None:
        """Query Slurm about the job at once, because its server seems to be gone."""
        if self._job is not None:
            self._job.poll_soon()

    def change_session(self, **changes: Any) -> None:
        """Save `changes` of the session, new values by field."""
        if self._job is not None:
            self._job.session = replace(self._job.session, **changes)
            self._save(self._job.session)

    def set_end(self, *, left_s: int, ends_at: str) -> None:
        """Set a new end of the session that Slurm has just accepted."""
        if self._job is not None:
            self._job.set_end(left_s=left_s, ends_at=ends_at)

    def get_env(self) -> dict[str, str]:
        """Return the server's environment; the launcher adds the variables of a login."""
        # batchspawner's own method asks the name service for the user, in the event loop.
        environment: dict[str, str] = Spawner.get_env(self)
        # The deprecated name of JUPYTERHUB_API_TOKEN.
        environment.pop("JPY_API_TOKEN", None)
        here = self.on(self._request.options.cluster)
        if here.cluster.name:
            # In place of those of the first cluster.
            environment = {k: v for k, v in environment.items() if k not in self.environment}
            environment |= here.traits.environment
        resources = plain_table(read_traits(here.traits, ResourceSettings))
        own = {"resources": resources, LIMITS: here.offer().told}
        environment[VARIABLE] = json.dumps({**own, **here.traits.session_settings})
        if page := self.pages.get(self._request.options.name("opens") or ""):
            environment["JUPYTERHUB_DEFAULT_URL"] = page
        if self.clusters:
            others = self.besides(here.cluster.name)
            environment[OTHER_CLUSTERS] = ", ".join(other.title for other in others)
        if self.certificates_dir:
            environment[AUTHORITY_VARIABLE] = read_authority(Path(self.certificates_dir))
        # The launcher refuses a value that is not a text.
        return {name: str(value) for name, value in environment.items()}

    def _save(self, session: Session) -> None:
        self.job_id = str(session.job_id or "")
        try:
            self._rows.save(session, self._progress)
        except DatabaseLockedError:
            asyncio.get_running_loop().call_later(SAVE_AGAIN_S, self._save_job)

    def _save_job(self) -> None:
        if self._job is not None:
            self._rows.save(self._job.session, self._progress)
