"""Where Python packages come from: the ordinary index, or what the site names instead."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.common.errors import DeployError

SETTING = "DSPORTAL_PACKAGES"
ORDINARY_INDEX = "https://pypi.org/simple"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSources:
    """Package indexes and folders of wheels; the hash of every file is checked."""

    indexes: tuple[str, ...] = (ORDINARY_INDEX,)
    folders: tuple[Path, ...] = ()

    @property
    def has_more_than_ordinary(self) -> bool:
        """Whether these sources can offer what the ordinary index does not have."""
        return bool(self.folders) or set(self.indexes) != {ORDINARY_INDEX}

    @property
    def uv_options(self) -> tuple[str, ...]:
        """Options of uv that have no environment variable."""
        folders = (word for folder in self.folders for word in ("--find-links", str(folder)))
        return (*(() if self.indexes else ("--no-index",)), *folders)

    def variables(self) -> dict[str, str]:
        """Return the variables that send pip and uv to these sources, and nowhere else.

        Addresses can hold a password. In a command line it would appear in logs.

        Source:
            https://pip.pypa.io/en/stable/topics/configuration/, uv pip install --help
        """
        return {
            # With this value pip reads no configuration file at all.
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            # The certificates of the machine, where an administrator adds those of the site.
            "UV_SYSTEM_CERTS": "1",
            "UV_NO_CONFIG": "1",
            "UV_NO_PROGRESS": "1",
            # What uv downloads would lie in root's home, where users cannot run it.
            "UV_PYTHON_DOWNLOADS": "never",
            # The hashes decide, so that no index can put itself before another one.
            "UV_INDEX_STRATEGY": "unsafe-best-match",
            **self._variables_of_indexes(),
            **({"PIP_FIND_LINKS": " ".join(map(str, self.folders))} if self.folders else {}),
        }

    def _variables_of_indexes(self) -> dict[str, str]:
        if not self.indexes:
            return {"PIP_NO_INDEX": "1"}
        first, *others = self.indexes
        chosen = {"PIP_INDEX_URL": first, "UV_DEFAULT_INDEX": first}
        further = {"PIP_EXTRA_INDEX_URL": " ".join(others), "UV_INDEX": " ".join(others)}
        return {**chosen, **(further if others else {})}


def package_sources(environ: Mapping[str, str]) -> PackageSources:
    """Return the package sources of a build.

    Args:
        environ: Environment of the program; its DSPORTAL_PACKAGES holds addresses of indexes and
            absolute paths of folders, with blanks between them.
    """
    words = environ.get(SETTING, "").split()
    if not words:
        return PackageSources()
    for word in words:
        if "://" not in word and not Path(word).is_dir():
            raise DeployError(
                f"{SETTING} names {word}, which is neither the address of a package index nor a"
                " folder of this machine.",
                f"Set it to such as '{ORDINARY_INDEX} /srv/wheels'.",
            )
    return PackageSources(
        indexes=tuple(word for word in words if "://" in word),
        folders=tuple(Path(word).absolute() for word in words if "://" not in word),
    )
