"""Jupyter's collaboration is loaded only where a session asks for it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from traitlets.config import Config

from portal.server.collaboration.plugin import (
    SERVER_EXTENSIONS,
    load_collaboration,
)


class Manager:
    """Stands for Jupyter's manager of extensions."""

    def __init__(self, *linked: str, is_installed: bool = True) -> None:
        self.linked_extensions = dict.fromkeys(linked, True)
        self.is_installed = is_installed
        self.loaded: list[str] = []

    def add_extension(self, _name: str, *, enabled: bool) -> bool:
        return self.is_installed and enabled

    def link_extension(self, name: str) -> None:
        self.linked_extensions[name] = True

    def load_extension(self, name: str) -> None:
        assert name in self.linked_extensions
        self.loaded.append(name)


def server(manager: Manager) -> Any:
    config = Config()
    return SimpleNamespace(
        config=config,
        extension_manager=manager,
        update_config=config.merge,
    )


def test_nothing_that_it_keeps_is_outside_the_private_folder(tmp_path: Path) -> None:
    app = server(manager := Manager())
    assert load_collaboration(app, tmp_path)
    assert manager.loaded == [*SERVER_EXTENSIONS]
    assert app.config.SQLiteYStore.db_path == str(tmp_path / "documents.db")
    assert app.config.YDocExtension.session_store_path.startswith(str(tmp_path))
    assert app.config.BaseFileIdManager.db_path == ":memory:"


def test_an_extension_that_is_there_already_is_not_loaded_twice(tmp_path: Path) -> None:
    manager = Manager(*SERVER_EXTENSIONS)
    assert load_collaboration(server(manager), tmp_path)
    assert manager.loaded == []


def test_a_site_may_have_left_it_out(tmp_path: Path) -> None:
    assert not load_collaboration(server(Manager(is_installed=False)), tmp_path)
