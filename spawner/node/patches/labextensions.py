"""jupyterlab_server.config: an extension of JupyterLab that cannot be read is left out.

It would be an error 500 in place of JupyterLab and of Notebook.

Source:
    jupyterlab_server 2.28.1, `config.get_federated_extensions` and `get_page_config`, which find
    extensions by `iglob`.

Shown by:
    tests/unit/spawner/node/patches/test_labextensions.py
"""

import json
import logging
from functools import cache
from glob import iglob
from pathlib import Path
from typing import Any

from jupyterlab_server import config as _config

_log = logging.getLogger("dsportal")


def skip_broken(notices: list[str]) -> None:
    """Leave them out; `notices` gets a sentence for each."""

    @cache
    def is_readable(path: str) -> bool:
        if not (fault := fault_of_labextension(Path(path))):
            return True
        notices.append(
            f"JupyterLab does without the extension in {Path(path).parent}: {fault}."
            " Install it again, or remove the folder."
        )
        _log.warning("%s", notices[-1])
        return False

    config: Any = _config
    config.iglob = lambda pattern: filter(is_readable, iglob(pattern))


def fault_of_labextension(package: Path) -> str:
    """Return what makes an extension unreadable for JupyterLab, by its package.json, or ""."""
    try:
        about = json.loads(package.read_text(encoding="utf-8"))
        build = about.get("jupyterlab", {}).get("_build")
        for needed in (about["name"], about["version"], build["load"] if build is not None else ""):
            needed.encode()
        installed = package.with_name("install.json")
        if installed.exists():
            json.loads(installed.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"a file of it cannot be read ({error})"
    except (LookupError, TypeError, AttributeError):
        return "its package.json is not that of an extension"
    return ""
