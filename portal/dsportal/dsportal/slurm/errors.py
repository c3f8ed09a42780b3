"""The errors that reading what people and Slurm wrote can raise."""


class PortalError(Exception):
    """Base of all errors that a user or a site can cause.

    Args:
        message: One or two sentences: what was asked, the limit, the next step.
    """

    http_status = 500

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def jupyterhub_message(self) -> str:
        """The text that JupyterHub shows to the user."""
        return self.message


class OptionsError(PortalError):
    """What a user asked for cannot be met."""

    http_status = 400
