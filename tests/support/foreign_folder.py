"""A notebook server with a folder of somebody else's."""

import subprocess
from pathlib import Path

from tests.support.checkout import PYTHONPATH
from tests.support.eventually import eventually
from tests.support.kernels import offered, run_cells
from tests.support.notebook_server import NotebookServer

R = "/usr/bin/R"
# What a kernel may import before there is a cell, or Python itself.
PLANTED = (
    *("ipykernel_launcher", "ipykernel", "traitlets", "sitecustomize", "usercustomize", "zmq"),
    *("comm", "matplotlib_inline", "psutil", "json", "ast", "debugpy", "tornado", "site"),
)


class Shared:
    """A folder of somebody else's in which every file leaves a mark when it is run."""

    def __init__(self, server: NotebookServer, name: str) -> None:
        self.server = server
        self.name = name
        self.marks = server.root / f"marks-{name}"
        self.folder = server.root / name
        self.folder.mkdir()
        mark = f"open({str(self.marks)!r}, 'a').write(__name__ + ' ')\n"
        for module in PLANTED:
            (self.folder / f"{module}.py").write_text(mark)
        (self.folder / "localmod.py").write_text("value = 'beside'\n")
        (self.folder / ".Rprofile").write_text(self._r_mark)
        (self.folder / ".Renviron").write_text("PLANTED=yes\n")

    @property
    def _r_mark(self) -> str:
        return f"cat('R ', file = {str(self.marks)!r}, append = TRUE)\n"

    @property
    def look(self) -> str:
        """A cell that shows whether a file was run, and the working folder."""
        return f"import os; print(os.path.exists({str(self.marks)!r}), os.getcwd())"

    def plant_workspace(self) -> None:
        """Leave a saved workspace with a function that R calls when it starts."""
        code = f".First <- function() {self._r_mark.strip()}; save.image()"
        argv = [R, "--vanilla", "--slave", "-e", code]
        subprocess.run(argv, cwd=self.folder, check=True, timeout=60)

    async def run(self, kernel: str, *cells: str) -> list[str]:
        """Open a notebook of the folder with a kernel."""
        eventually(lambda: kernel in offered(self.server), timeout_s=60)
        return await run_cells(self.server, kernel, *cells, folder=self.name)


def start_server(
    folder: Path, tensorboard_python: Path, kernels: Path, **environ: str
) -> NotebookServer:
    """Start a server that offers the kernels below `kernels`, with further variables."""
    variables = {
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTER_PATH": str(kernels),
        # What the start file of many a shell makes of a variable that was empty before.
        "PYTHONPATH": f":{PYTHONPATH}",
        **environ,
    }
    return NotebookServer(folder, tensorboard_python, environ=variables)
