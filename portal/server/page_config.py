"""What the pages of JupyterLab and Notebook are told of the session's settings."""

from __future__ import annotations

from portal.server.viewers.mlflow.tracking import has_mlflow
from spawner.session_settings import SessionSettings


def page_config(
    settings: SessionSettings, *, is_shareable: bool, tensorboard_script: str
) -> dict[str, str | bool | float]:
    """Return what the labextension reads from the page.

    Args:
        settings: The session's.
        is_shareable: Whether the owner can let others in.
        tensorboard_script: Path of TensorBoard's script, which the page loads ahead.
    """
    return {
        "portalName": settings.site_name,
        "portalUploads": settings.resumable_uploads,
        "portalShares": is_shareable,
        "portalArchives": settings.archives,
        "portalPreviews": settings.previews,
        "portalMlflow": "yes" if has_mlflow(settings) else "",
        "portalS3": settings.s3_endpoint,
        # Where ssh is offered, the Help menu says how.
        "portalSsh": "yes" if settings.ssh_limit else "",
        "tensorBoardScript": tensorboard_script,
    }
