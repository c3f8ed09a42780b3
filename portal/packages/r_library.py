"""The user's R packages, which R keeps in a folder for each of its versions."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

KERNEL = "ir"
# R's own answer: the folder that the kernel adds, which depends on platform, version and settings.
_ASK = "cat(strsplit(Sys.getenv('R_LIBS_USER'), ':', fixed = TRUE)[[1]][1])"
# A package that cannot be installed is only a warning of R's.
_INSTALL = """
words <- commandArgs(TRUE)
.libPaths(c(words[1], .libPaths()))
install.packages(words[-1], lib = words[1])
lacking <- setdiff(words[-1], rownames(installed.packages(lib.loc = words[1])))
if (length(lacking)) { message("Not installed: ", toString(lacking)); quit(status = 1) }
"""


def present_library(rscript: str = "Rscript") -> Path | None:
    """Return the folder of the user's packages for the present R, or None if there is no R.

    It need not exist.
    """
    try:
        # The home, since R reads two files of its working folder.
        done = subprocess.run(
            [rscript, "-e", _ASK], cwd=Path.home(), capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return Path(done.stdout).expanduser() if done.returncode == 0 and done.stdout else None


def last_library(present: Path) -> Path | None:
    """Return the library of the newest other version of R that holds packages."""
    others = [path for path in present.parent.glob("[0-9]*") if path != present]
    others = [path for path in others if packages_in(path)]
    return max(others, key=_version, default=None)


def packages_in(library: Path) -> list[str]:
    """Return the names of the packages in a library, those that others need among them."""
    return sorted(path.parent.name for path in library.glob("[A-Za-z]*/DESCRIPTION"))


def install_packages(names: Sequence[str], library: Path, rscript: str = "Rscript") -> bool:
    """Install packages from R's own repositories; return whether all are there afterwards."""
    library.mkdir(parents=True, exist_ok=True)
    argv = [rscript, "-e", _INSTALL, str(library), *names]
    return subprocess.run(argv, cwd=Path.home(), check=False).returncode == 0


def _version(library: Path) -> tuple[int, ...]:
    return tuple(int(word) for word in library.name.split(".") if word.isdigit())
