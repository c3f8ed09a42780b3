"""jupyterhub.singleuser: loaded without the hub's pages and database, and a second HTTP client.

JupyterHub's code for servers imports a page of the hub, and with it all this: 1.56 s of CPU until
the first answer and 120 MiB, medians of 20 starts on two busy cores, in place of 1.15 s and 85 MiB
(2026-11-26).

Source:
    JupyterHub 6.1.1, `log.py`, `utils.py`, `singleuser/extension.py` and `httpclient.py`.

Shown by:
    tests/server/test_start.py
"""

import asyncio
import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def load_hub_code() -> None:
    """Load what a server needs of JupyterHub; call it before anything else imports JupyterHub."""
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
