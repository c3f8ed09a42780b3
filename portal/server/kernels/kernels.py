"""Generates kernelspecs for the registered environments and keeps them up to date."""

import json
import logging
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_data_dir

from dsportal.whole_file import write_whole
from portal.environments.command import Node, kernel_spec
from portal.environments.entry import Environment
from portal.environments.languages import R
from portal.environments.probe import quick_problem, try_environment
from portal.environments.registry import OWN_PATH, read_registry, site_path
from portal.server.kernels.own_kernels import offer_own_kernels
from portal.server.kernels.without_packages import KernelsWithoutPackages

_MAX_LOGO_BYTES = 1024 * 1024
# A trial starts an interpreter, which competes with the user's work for the session's cores.
_N_AT_ONCE = 2
# Polled: inotify does not see what other hosts change on a network file system.
_FOLLOW_INTERVAL_S = 5


@dataclass(frozen=True, slots=True)
class Listing:
    """An environment, and whether it works on this node.

    Attributes:
        problem: Why it is not offered on this node, or "".
        packages: What is installed in it, as NAME==VERSION; None if that is not known.
    """

    environment: Environment
    problem: str
    packages: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values.

        Returns:
            `name`, `kernel`, `kind`, `own` and `problem`.
        """
        return {
            "name": self.environment.name,
            "kernel": self.environment.kernel_name,
            "kind": self.environment.kind.value,
            "own": self.environment.is_own,
            "problem": self.problem,
        }


class Kernels:
    """Keeps a folder of kernelspecs in line with the registries of the site and the user.

    Args:
        folder: For the kernelspecs; one of the folders that the notebook server searches.
        site: The site's registry file.
        without_packages: Is kept up to date, too.
    """

    def __init__(
        self,
        folder: Path,
        *,
        site: Path,
        home: Path,
        node: Node,
        without_packages: KernelsWithoutPackages,
        log: logging.Logger,
    ) -> None:
        self.folder = folder
        self.without_packages = without_packages
        self._site = site
        self._home = home
        self._node = node
        self._log = log
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._tried = threading.Event()
        self.listings: tuple[Listing, ...] = ()
        self.problems: tuple[str, ...] = ()

    def start(self) -> None:
        """Write the kernelspecs in a thread, again whenever a registry changes."""
        threading.Thread(target=self._follow, name="kernels", daemon=True).start()

    def stop(self) -> None:
        """Stop watching the registries."""
        self._stopped.set()

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON values.

        Returns:
            `environments`, and `problems` of the registry itself.
        """
        environments = [listing.as_json() for listing in self.listings]
        return {"environments": environments, "problems": list(self.problems)}

    def packages(self, *, timeout_s: float) -> dict[str, tuple[str, ...] | None]:
        """Return what is installed in the offered environments.

        Args:
            timeout_s: Limit for waiting for trials that are still running.

        Returns:
            Packages as NAME==VERSION by kernel, the site's first; None if they are not known.
        """
        if not self.listings or any(one.packages is None for one in self.listings):
            self._tried.wait(timeout_s)
        return {
            listing.environment.kernel_name: listing.packages
            for listing in self.listings
            if not listing.problem
        }

    def _follow(self) -> None:
        seen: tuple[int, ...] | None = None
        while True:
            self.without_packages.refresh()
            stamps = tuple(_stamp(path) for path in (self._site, self._home / OWN_PATH))
            if stamps != seen:
                seen = stamps
                try:
                    self.refresh()
                except OSError as error:
                    self._log.warning("The kernels cannot be described: %s", error)
            if self._stopped.wait(_FOLLOW_INTERVAL_S):
                return

    def offer(self) -> tuple[Environment, ...]:
        """Read the registry, and offer everything in it that may work; nothing is tried.

        Raises:
            OSError: If there is no room for the kernelspecs.
        """
        with self._lock:
            registry = read_registry(self._site, self._home)
            self.problems = registry.problems
            self._publish([self._quick_listing(entry) for entry in registry.environments])
            return registry.environments

    def refresh(self) -> None:
        """Read the registry: offer everything that may work, then withdraw what does not.

        It takes as long as the file systems and interpreters do.

        Raises:
            OSError: If there is no room for the kernelspecs.
        """
        with self._lock:
            # Kernels appear at once; trying them can take long.
            entries = self.offer()
            with ThreadPoolExecutor(_N_AT_ONCE) as pool:
                self._publish(list(pool.map(self._listing, entries)))
        self._tried.set()
        for sentence in self.problems:
            self._log.warning("%s", sentence)
        for listing in self.listings:
            if listing.problem:
                name = listing.environment.name
                self._log.warning("The environment %s is not offered: %s", name, listing.problem)

    def _quick_listing(self, entry: Environment) -> Listing:
        return Listing(entry, quick_problem(entry, self._node), entry.packages)

    def _listing(self, entry: Environment) -> Listing:
        trial = try_environment(entry, self._node)
        # The trial knows what is installed now, the entry only what was when it was added.
        packages = entry.packages if trial.packages is None else trial.packages
        return Listing(entry, trial.problem, packages)

    def _publish(self, listings: list[Listing]) -> None:
        offered = {
            listing.environment.kernel_name: listing.environment
            for listing in listings
            if not listing.problem
        }
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for present in self.folder.iterdir():
            if present.name not in offered:
                shutil.rmtree(present, ignore_errors=True)
        for name, environment in offered.items():
            self._describe(self.folder / name, environment)
        self.listings = tuple(listings)

    def _describe(self, folder: Path, environment: Environment) -> None:
        folder.mkdir(exist_ok=True)
        _place_logos(folder, environment)
        text = json.dumps(kernel_spec(environment, self._node), indent=1)
        # The notebook server may read it at any moment.
        write_whole(folder / "kernel.json", text.encode())


def describe_kernels(
    folder: Path, node: Node, log: logging.Logger
) -> tuple[Kernels, list[str], tuple[Path, ...]]:
    """Describe all kernels beside the shipped ones in folders of `folder`.

    Returns:
        Those of registries, and the shipped ones without packages, which are not described yet;
        why kernels of the user's own are not offered, a sentence for each; and the folders of
        kernelspecs.
    """
    shipped = Path(sys.prefix) / "share/jupyter/kernels"
    parts = ("without-packages", "environments", "own")
    without_packages, environments, own = folders = tuple(folder / one / "kernels" for one in parts)
    kernels = Kernels(
        environments,
        site=site_path(),
        home=Path.home(),
        node=node,
        without_packages=KernelsWithoutPackages(
            without_packages, shipped=shipped, home=Path.home(), log=log
        ),
        log=log,
    )
    theirs = Path(jupyter_data_dir()) / "kernels"
    return kernels, offer_own_kernels(own, own=theirs, shipped=shipped, log=log), folders


def _stamp(path: Path) -> int:
    try:
        # An edit of a registry shows in its time; no file counts as time 0.
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _place_logos(folder: Path, environment: Environment) -> None:
    if environment.logo is not None:
        try:
            with environment.logo.open("rb") as file:
                content = file.read(_MAX_LOGO_BYTES)
        except OSError:
            content = b""
        if content:
            is_svg = environment.logo.suffix == ".svg"
            (folder / ("logo-svg.svg" if is_svg else "logo-64x64.png")).write_bytes(content)
            return
    # Python's logo would be wrong for R.
    if environment.language is not R:
        resources = files("ipykernel") / "resources"
        for name in ("logo-32x32.png", "logo-64x64.png", "logo-svg.svg"):
            logo = resources / name
            if logo.is_file():
                (folder / name).write_bytes(logo.read_bytes())
