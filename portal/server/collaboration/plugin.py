"""Several people in one document, where a session may be shared."""

from functools import partial
from pathlib import Path

from jupyter_server.serverapp import ServerApp
from traitlets.config import Config

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.hidden_plugins import hide_plugins

SERVER_EXTENSIONS = ("jupyter_server_fileid", "jupyter_server_ydoc")
LABEXTENSIONS = ("@jupyter/collaboration-extension", "@jupyter/docprovider-extension")
# What these two leave out or put in place of JupyterLab's: its file browser's drive, which is
# replaced; their executor of cells would be in the place of ours.
DISABLED = (
    "@jupyterlab/filebrowser-extension:defaultFileBrowser",
    "@jupyter/docprovider-extension:notebook-cell-executor",
)


def load_collaboration(serverapp: ServerApp, private_dir: Path) -> bool:
    """Load the extensions of the server.

    Args:
        serverapp: The notebook server, which loads its extensions now.
        private_dir: Gets the history of open documents, which would be in the home or in the
            working folder otherwise. It ends with the session; documents are saved as files.

    Returns:
        Whether they are installed, which a site with an environment of its own may have left out.
    """
    serverapp.update_config(
        Config(
            {
                "BaseFileIdManager": {"db_path": ":memory:"},
                "SQLiteYStore": {"db_path": str(private_dir / "documents.db")},
                "YDocExtension": {
                    "session_store_path": str(private_dir / "collaboration-sessions.json")
                },
            }
        )
    )
    manager = serverapp.extension_manager
    # One that a configuration of the user has switched on is there already.
    wanted = [name for name in SERVER_EXTENSIONS if name not in manager.linked_extensions]
    if not all(manager.add_extension(name, enabled=True) for name in wanted):
        return False
    for name in wanted:
        manager.link_extension(name)
        manager.load_extension(name)
    return True


def load(shared: Shared) -> Feature:
    """Load Jupyter's extensions for it, if they are installed."""
    if not load_collaboration(shared.server, shared.private_dir):
        return Feature()
    web_app = shared.server.web_app
    return Feature(start=partial(hide_plugins, web_app, DISABLED, shown=LABEXTENSIONS))


PLUGIN = Plugin(load, is_on=lambda settings: settings.sharing.enabled)
