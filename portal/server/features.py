"""The features of a session."""

import importlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from portal.server.base.feature import Feature, Plugin, Shared

# In the order in which they are loaded. One whose folder is left out is not there.
NAMES = (
    # Refuses in front of the routes of all others.
    "downloads",
    # VS Code is told where kernels are, and the path of ports.
    "kernels",
    "ports",
    "session",
    "ssh",
    "collaboration",
    "courses",
    "environments",
    "exports",
    "files",
    "git",
    "jobs",
    "notebook_jobs",
    "kernel_jobs",
    "reading",
    "rescue",
    "s3",
    "sharing",
    "storage",
    "templates",
    "terminals",
    "viewers",
    "web_tools",
)
# So long the start of a session waits for the home and the shared storage.
PREPARE_TIMEOUT_S = 2.0


def find_plugins() -> Iterator[Plugin]:
    """Yield those whose folders are there."""
    for name in NAMES:
        module = f"{__package__}.{name}.plugin"
        try:
            yield importlib.import_module(module).PLUGIN
        except ModuleNotFoundError as error:
            # Not a module that the plugin itself misses.
            if error.name not in {module, module.rpartition(".")[0]}:
                raise


def load_features(shared: Shared) -> list[Feature]:
    """Load the features that this site has, and let them prepare home and storage."""
    plugins = [plugin for plugin in find_plugins() if plugin.is_on(shared.settings)]
    features = [plugin.load(shared) for plugin in plugins]
    prepare([feature.prepare for feature in features], PREPARE_TIMEOUT_S, shared.log)
    return features


def prepare(works: Sequence[Callable[[], object]], timeout_s: float, log: logging.Logger) -> None:
    """Do all works at once; after `timeout_s` the start no longer waits, and they continue."""

    def work(one: Callable[[], object]) -> None:
        try:
            one()
        except OSError:
            log.exception("The home could not be prepared; the session starts without.")

    # Daemons: hanging storage must not keep the server from ending.
    threads = [threading.Thread(target=work, args=(one,), daemon=True) for one in works]
    deadline_s = time.monotonic() + timeout_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline_s - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        log.warning(
            "The home or the shared storage gave no answer within %g s. The session starts; "
            "templates and links appear when it does.",
            timeout_s,
        )
