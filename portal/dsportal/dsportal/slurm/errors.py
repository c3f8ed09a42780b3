"""The errors that reading what people and Slurm wrote can raise."""


class PortalError(Exception):
    """Base of all errors that a user or a site can cause.

    Args:
        message: One or two sentences: what was asked, the limit, the next step.
        http_status: Instead of that of the class.
    """

    http_status = 500

    def __init__(self, message: str, *, http_status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.http_status = http_status or self.http_status

    @property
    def jupyterhub_message(self) -> str:
        """The text that JupyterHub shows to the user."""
        return self.message


class OptionsError(PortalError):
    """What a user asked for cannot be met."""

    http_status = 400
