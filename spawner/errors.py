"""Errors that a user, a site or Slurm can cause.

    PortalError                  str() is what was asked, the limit and the next step
      SettingsError              a site's file or trait is wrong
      SiteError                  the cluster is not set up for the portal HTTP 503
      OptionsError               a user's request cannot be met           HTTP 400
      PreflightError             the user's storage is not in order       HTTP 409
      SlurmError                 a Slurm command failed                   HTTP 502
        SlurmUnavailableError    Slurm gave no answer in time             HTTP 503
        JobRejectedError         sbatch said no                           HTTP 400
      JobEndedError              the job ended before its server answered HTTP 500
      ExtensionError             a session cannot be extended             HTTP 409

The status is that of the page or the REST response. PortalError and OptionsError are in
`dsportal.slurm.errors`, where kernels have them too,
JobEndedError is in `spawner.session.session_end`.
"""

from collections.abc import Sequence

from dsportal.slurm.errors import OptionsError, PortalError


class SettingsError(PortalError):
    """A site's settings file or trait cannot be used."""


class SiteError(PortalError):
    """The cluster is not set up for the portal; its administrators can fix that."""

    http_status = 503


class PreflightError(PortalError):
    """A session would not work: its user's home or the site's storage is not in order.

    Args:
        needs_rescue: Whether the home is full, so that only a session that writes nothing there
            starts.
    """

    http_status = 409

    def __init__(self, message: str, *, needs_rescue: bool = False) -> None:
        super().__init__(message)
        self.needs_rescue = needs_rescue


class SlurmError(PortalError):
    """A Slurm command failed.

    Args:
        argv: The command as it was run; never holds a secret.
        exit_code: None if it did not end.
    """

    http_status = 502

    def __init__(
        self,
        message: str,
        *,
        argv: Sequence[str] = (),
        exit_code: int | None = None,
        stderr: str = "",
    ) -> None:
        super().__init__(message)
        self.argv = tuple(argv)
        self.exit_code = exit_code
        self.stderr = stderr


class SlurmUnavailableError(SlurmError):
    """Slurm gave no answer in time, so nothing is known about any job."""

    http_status = 503


class JobRejectedError(SlurmError):
    """Slurm refused to take the job."""

    http_status = 400


class BudgetError(OptionsError):
    """Too little of a budget in Slurm's accounting is left."""


class ExtensionError(PortalError):
    """A session cannot be extended; str() says why and what to do."""

    http_status = 409
