"""What the hub's database keeps about one session, so that a restarted hub can take it up."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from spawner.slurm.jobs import NAME_PREFIX, JobKey, JobRecord
from spawner.slurm.resources import Resources

_COMMENT_PREFIX = "data-scientist-portal hub="


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One start of one server. It is saved before the job is submitted, then at each step.

    Attributes:
        mark: Random, so that no other job can be taken for this session's; not a secret.
        user: Whose session it is.
        n_gpus: GPUs of the session.
        walltime_s: Time limit in seconds.
        memory_mib: Memory in MiB.
        job_id: Slurm's id, or 0 until sbatch has answered.
        token_id: The hub's row of the token that the server holds, or 0 where there is none.
        address: Where the hub reaches the node, once known.
        port: Port of the server there, or 0 until it is reported.
        is_ready: The server has answered.
        submitted_at: When its job was submitted, in seconds since 1970 (UTC), or 0 until then.
        n_extensions: How often its time limit was lengthened.
        has_tls: Its server has to report a certificate with its port.
        certificate: The one that it reported, as PEM; empty until then.
        partition: Slurm partition of its job; empty for the default one, or where an earlier
            release started it.
    """

    mark: str
    user: str
    n_gpus: int = 0
    walltime_s: int = 0
    memory_mib: int = 0
    job_id: int = 0
    token_id: int = 0
    address: str = ""
    port: int = 0
    is_ready: bool = False
    submitted_at: float = 0.0
    n_extensions: int = 0
    has_tls: bool = False
    certificate: str = ""
    partition: str = ""

    @classmethod
    def create(
        cls,
        user: str,
        *,
        resources: Resources,
        walltime_s: int,
        token_id: int,
        partition: str | None = None,
        has_tls: bool = False,
    ) -> Session:
        """Return a new session with a mark of its own.

        Args:
            user: Whose session it is.
            resources: Its GPUs, cores and memory.
            walltime_s: Time limit in seconds.
            token_id: The hub's row of the server's token.
            partition: Where its job goes; None for Slurm's default partition.
            has_tls: Its server has to report a certificate.

        Returns:
            The session, without a job yet.
        """
        return cls(
            mark=secrets.token_hex(8),
            user=user,
            n_gpus=resources.n_gpus,
            memory_mib=resources.memory_mib,
            walltime_s=walltime_s,
            token_id=token_id,
            partition=partition or "",
            has_tls=has_tls,
        )

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Session | None:
        """Return the session in a saved state.

        Args:
            state: What `to_state` returned, by this or an earlier release.

        Returns:
            The session, or None where the state holds none.
        """
        saved = state.get("session")
        if not isinstance(saved, Mapping) or not saved.get("mark") or not saved.get("user"):
            return None
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in saved.items() if name in known})

    def to_state(self) -> dict[str, Any]:
        """Return this as JSON values; holds no secret."""
        return {"session": asdict(self)}

    @property
    def url(self) -> str:
        """Where its server listens."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    @property
    def job_name(self) -> str:
        """Name of the session's job."""
        return f"{NAME_PREFIX}{self.mark}"

    @property
    def key(self) -> JobKey:
        """The session's job, as it is recognised in Slurm's answers."""
        return JobKey(job_id=self.job_id, user=self.user, name=self.job_name)

    def changed(self, **changes: Any) -> Session:
        """Return this session with some fields changed.

        Args:
            changes: New values by field.

        Returns:
            The new session.
        """
        return replace(self, **changes)


def identify_hub(secret: bytes) -> str:
    """Return a name for this hub that other hubs on the same cluster do not have.

    Args:
        secret: The hub's cookie secret, which survives its restarts. It cannot be found from the
            name.

    Returns:
        12 hexadecimal digits.
    """
    return hashlib.sha256(b"data-scientist-portal hub name:" + secret).hexdigest()[:12]


def comment_of(hub: str) -> str:
    """Return the comment that the jobs of a hub carry.

    Args:
        hub: What `identify_hub` returned.

    Returns:
        The text for sbatch --comment.
    """
    return f"{_COMMENT_PREFIX}{hub}"


def mark_of(record: JobRecord, hub: str) -> str | None:
    """Return the mark of a job that a hub started.

    Args:
        record: Any job.
        hub: What `identify_hub` returned.

    Returns:
        The session's mark, or None where the job is not of this hub.
    """
    if record.comment != comment_of(hub) or not record.key.name.startswith(NAME_PREFIX):
        return None
    return record.key.name.removeprefix(NAME_PREFIX)
