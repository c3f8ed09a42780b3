"""State of one session in the hub's database, from which a restarted hub can restore it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from spawner.slurm.jobs import NAME_PREFIX, JobKey, JobRecord

_COMMENT_PREFIX = "data-scientist-portal hub="


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One start of one server. It is saved before the job is submitted, then at each step.

    Attributes:
        session_id: Random, so that no other job can be taken for this session's; not a secret.
        walltime_s: Time limit in seconds.
        job_id: Slurm's job id, or 0 until sbatch has answered.
        token_id: The hub's row of the token that the server holds, or 0 if there is none.
        address: Address at which the hub reaches the node; empty until known.
        port: Port of the server there, or 0 until it is reported.
        is_ready: Whether the server has answered.
        submitted_at: When its job was submitted, in seconds since 1970 (UTC), or 0 until then.
        n_extensions: How often its time limit was extended.
        has_tls: Whether its server has to report a certificate with its port.
        certificate: The one that it reported, as PEM; empty until then.
        authority: Fingerprint of the authority whose hub and proxy its server accepts; empty
            without TLS, or if an earlier release started it.
        partition: Slurm partition of its job; empty for the default one, or if an earlier
            release started it.
        account: Slurm account that its user or the site chose; empty for the user's default.
        qos: Quality of service that its user or the site chose; empty for the default.
        gpu_type: GPU type that its user chose; empty for any, None if an earlier release started
            it.
        has_other_gpu_type: Whether its user could choose another one; None if not known.
        has_other_partition: Whether its user could choose another partition; None if not known.
        cluster: Name of the cluster that its job is on, for its whole life; empty for the first.
    """

    # dsportal-extender accepts only names with 16 such digits.
    session_id: str = field(default_factory=lambda: secrets.token_hex(8))
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
    authority: str = ""
    partition: str = ""
    account: str = ""
    qos: str = ""
    gpu_type: str | None = None
    has_other_gpu_type: bool | None = None
    has_other_partition: bool | None = None
    cluster: str = ""

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Session | None:
        """Return the session in a saved state, or None if it holds none.

        Args:
            state: JSON values that `to_state` returned, in this or an earlier release.
        """
        saved = state.get("session")
        if not isinstance(saved, Mapping) or not saved.get("session_id") or not saved.get("user"):
            return None
        # Another release may have saved fields that this one does not know.
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in saved.items() if name in known})

    def to_state(self) -> dict[str, Any]:
        """Return the session as JSON values, without secrets."""
        return {"session": asdict(self)}

    @property
    def url(self) -> str:
        """URL of its server, without a path."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    @property
    def job_name(self) -> str:
        """Name of the session's job."""
        return f"{NAME_PREFIX}{self.session_id}"

    @property
    def key(self) -> JobKey:
        """The session's job, as Slurm's answers identify it."""
        return JobKey(job_id=self.job_id, user=self.user, name=self.job_name)


def identify_hub(secret: bytes) -> str:
    """Return a name for this hub that no other hub on the cluster has: 12 hexadecimal digits.

    Args:
        secret: The hub's cookie secret, which survives restarts. The name does not reveal it.
    """
    # With a text in front, so that the digest is of no use where the secret itself is.
    return hashlib.sha256(b"data-scientist-portal hub name:" + secret).hexdigest()[:12]


def job_comment(hub: str) -> str:
    """Return the comment of a hub's jobs, for sbatch --comment; see `identify_hub`."""
    return f"{_COMMENT_PREFIX}{hub}"


def read_session_id(record: JobRecord, hub: str) -> str | None:
    """Return the id of a session's job, or None if the job is not of this hub."""
    if record.comment != job_comment(hub) or not record.key.name.startswith(NAME_PREFIX):
        return None
    return record.key.name.removeprefix(NAME_PREFIX)
