"""Skips start-up work of JupyterHub and JupyterLab that a session's server does not need."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

_NPM_PREFIX = re.compile(r"\s*prefix\s*=")
# The hub waits for the first answer of the server, and everything else until then makes it late.
AFTER_FIRST_ANSWER_S = 0.5


def skip_unneeded_startup() -> None:
    """Load what a server needs of JupyterHub and JupyterLab without the rest.

    Call it before anything else imports them.

    Source:
        Our measurement of the imports alone, on 2 busy cores, with JupyterHub 6.1.1 and JupyterLab
        4.6.6: 0.75 s of CPU and 79 MiB, medians of 6; 1.12 s and 116 MiB without the stand-ins.
    """
    _load_hub_code()
    _ask_hub_nothing()
    _ask_node_nothing()
    _find_language_servers_when_asked()
    _print_no_banner()


def _load_hub_code() -> None:
    # JupyterHub's code for servers imports a page of the hub, and with it the hub's pages and
    # database, and a second HTTP client.
    _load_when_used("jupyterhub.orm")
    with _stand_ins(
        # The log skips requests to this class; no handler of a session is one.
        _module("jupyterhub.handlers.pages", HealthCheckHandler=type("HealthCheckHandler", (), {})),
        # What needs them needs the hub's database, which no session has.
        _module("sqlalchemy", func=None),
        _module("sqlalchemy.exc", SQLAlchemyError=type("SQLAlchemyError", (Exception,), {})),
        _module("jupyterhub.httpclient", fetch=_fetch),
        _later("aiohttp"),
    ):
        importlib.import_module("jupyterhub.log")
        importlib.import_module("jupyterhub.singleuser.extension")


async def _fetch(*args: Any, **options: Any) -> Any:
    """JupyterHub's `fetch` with its `args` and `options`; the first call loads it, in a thread."""
    client = await asyncio.to_thread(importlib.import_module, "jupyterhub.httpclient")
    return await client.fetch(*args, **options)


def _module(name: str, **attributes: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(attributes)
    return module


def _later(name: str) -> ModuleType:
    """Return a stand-in for a module that is loaded when one of its attributes is used."""

    def load(attribute: str) -> Any:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(importlib.import_module(name), attribute)

    # PEP 562. The standard library's LazyLoader loads a module at its second `import`.
    stand_in = _module(name, __getattr__=load)
    return stand_in


@contextlib.contextmanager
def _stand_ins(*modules: ModuleType) -> Iterator[None]:
    """Give these to whoever imports their names meanwhile; later imports get the real ones."""
    new = {module.__name__: module for module in modules if module.__name__ not in sys.modules}
    sys.modules.update(new)
    try:
        yield
    finally:
        for name, module in new.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def _load_when_used(name: str) -> None:
    """Import a module of a package only when one of its attributes is used."""
    parent, _, short_name = name.rpartition(".")
    spec = importlib.util.find_spec(name)
    if name in sys.modules or spec is None or spec.loader is None:
        return
    spec.loader = loader = importlib.util.LazyLoader(spec.loader)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    # `from package import module` takes it from here without loading it.
    setattr(sys.modules[parent], short_name, module)


def _ask_hub_nothing() -> None:
    from jupyterhub.singleuser.extension import JupyterHubSingleUser

    report_activity = JupyterHubSingleUser.keep_activity_updated

    async def keep_activity_updated(self: JupyterHubSingleUser) -> None:
        await asyncio.sleep(AFTER_FIRST_ANSWER_S)
        await report_activity(self)

    async def check_hub_version(self: JupyterHubSingleUser) -> None:
        """Leave it to the hub, which has the port by now and compares versions as it connects."""

    JupyterHubSingleUser.keep_activity_updated = keep_activity_updated
    JupyterHubSingleUser.check_hub_version = check_hub_version


def _ask_node_nothing() -> None:
    from jupyterlab import commands

    # JupyterLab runs Node, if there is one, to learn the registry that it would build from: 0.4 s
    # of CPU, and 1.5 s until the first answer.
    commands._yarn_config = lambda _logger: {"yarn config": {}, "npm config": {}}


def _find_language_servers_when_asked() -> None:
    extension: Any = importlib.import_module("jupyter_lsp.serverextension")
    find = extension.initialize

    extension.LanguageServerManager._npm_prefix = lambda _self, npm: npm_prefix(Path(npm))

    # It runs R. Each page of JupyterLab and Notebook asks; a session that is used over ssh alone
    # does without.
    def initialize(server: Any, folder: str) -> None:
        manager = server.language_server_manager
        wait = manager.ready
        found: list[asyncio.Task[None]] = []

        async def ready() -> bool:
            if not found:
                found.append(asyncio.ensure_future(find(server, folder)))
            # The second who asks waits, too; who gives up meanwhile takes nothing from the others.
            await asyncio.shield(found[0])
            return bool(await wait())

        manager.ready = ready

    extension.initialize = initialize


def npm_prefix(npm: Path) -> str:
    """Return npm's folder of global modules without npm, which writes a log into the home.

    Args:
        npm: The program.

    Source:
        npm's documentation of `prefix`: the variable, then the user's .npmrc, then the folder above
        that of node, which is the folder above npm's.
    """
    given = next((v for k, v in os.environ.items() if k.lower() == "npm_config_prefix"), "")
    with contextlib.suppress(OSError):
        lines = Path.home().joinpath(".npmrc").read_text(errors="replace").splitlines()
        named = [line.partition("=")[2] for line in lines if _NPM_PREFIX.match(line)]
        given = given or (named or [""])[-1].strip(" \t\"'")
    return os.path.expanduser(os.path.expandvars(given or str(npm.parent.parent)))


def _print_no_banner() -> None:
    # Not for its time: these eleven lines would be the last in the job's log, where the page of a
    # session that has ended shows Slurm's own words about the end.
    if importlib.util.find_spec("nbclassic") is not None:
        page = importlib.import_module("nbclassic.notebookapp")
        vars(page)["print"] = lambda *_words: None
