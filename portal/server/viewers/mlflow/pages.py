"""The pages of MLflow in this session, one for each folder of runs."""

import os
from collections.abc import Sequence
from pathlib import Path

from dsportal.slurm.errors import OptionsError
from portal.server.viewers.folder import Folder
from portal.server.viewers.mlflow.tracking import FOLDER
from portal.server.viewers.page import FolderPage
from portal.server.viewers.pages import FolderPages
from portal.server.viewers.viewer import Viewer

MLFLOW = Viewer(
    title="MLflow",
    program=Path(__file__).with_name("process.py"),
    route="portal/mlflow",
    contents="runs",
)
# MLflow makes these in a folder that lacks them.
_MADE = (".trash", "models")


class MlflowPages(FolderPages):
    """Starts MLflow on folders of runs; each page takes about 0.5 GB of memory."""

    start_timeout_s = 120.0

    async def open(self, names: Sequence[str]) -> FolderPage:
        """Return the page that shows this folder; start one if there is none."""
        if len(names) > 1:
            raise OptionsError(
                f"MLflow was asked for {len(names)} folders, but a page shows one. Select one."
                " Several pages can be open at once."
            )
        return await super().open(names)

    def check(self, logdir: Folder) -> Folder:
        """Return a folder that holds runs, or that kernels log to."""
        is_own = logdir.path == Path.home().resolve() / FOLDER
        if not is_own and next(logdir.path.glob("*/meta.yaml"), None) is None:
            raise OptionsError(
                f"MLflow was asked for “{logdir.name}”, which holds no runs. Choose the folder that"
                f" they were logged to, such as {FOLDER}."
            )
        missing = [name for name in _MADE if not (logdir.path / name).is_dir()]
        if missing and not os.access(logdir.path, os.W_OK):
            raise OptionsError(
                f"MLflow was asked for “{logdir.name}”, where you may not write. It makes"
                f" {' and '.join(missing)} there. Copy the runs to a folder of yours."
            )
        return logdir
