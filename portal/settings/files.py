"""The table [files] of portal.toml."""

from dataclasses import dataclass

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class FileSettings:
    """Files between the user's computer and a session, in JupyterLab's file browser."""

    resumable_uploads: bool = setting(
        "Whether large uploads go to a file NAME.part in the same folder and continue after a lost"
        " connection. Otherwise JupyterLab's own upload is used.",
        default=True,
    )
    archives: bool = setting(
        "Whether a folder can be downloaded as a tar archive, made while it is sent.",
        default=True,
    )
    downloads: bool = setting(
        "Whether JupyterLab, Notebook and VS Code offer files for download. If false, copying data "
        "away is laborious, not impossible: users who may open a file may copy its content, and "
        "programs of a session may send it anywhere that the node reaches.",
        default=True,
    )
    previews: bool = setting(
        "Whether the file browser shows the content of Parquet files. Nothing in them is executed.",
        default=True,
    )

    @property
    def offers_archives(self) -> bool:
        """Whether folders can be downloaded."""
        return self.archives and self.downloads
