"""MLflow's folder of runs, made by ranks that begin to log at the same moment.

MLflow 3.17 makes the folder and then, in it, its first experiment: a rank that comes in between
fails, since the folder is there and the experiment is not.
"""

import functools
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any


def make_folder_at_once(module: ModuleType) -> None:
    """Have MLflow's store of files make its folder complete, or take that of another rank.

    `module` is mlflow.store.tracking.file_store.
    """
    store = module.FileStore
    # Another MLflow may make its folder in another way.
    stock = getattr(store, "_create_default_experiment", None)
    if stock is None:
        return

    @functools.wraps(stock)
    def create(self: Any) -> None:
        root = Path(self.root_directory)
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent, prefix=f".{root.name}-") as folder:
            new = Path(folder, root.name)
            self.root_directory = str(new)
            try:
                stock(self)
            finally:
                self.root_directory = str(root)
            # Not empty: another rank was faster, and its folder is complete, too.
            with suppress(OSError):
                os.rename(new, root)

    store._create_default_experiment = create
