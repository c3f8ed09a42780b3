"""Where the tests take Python packages from: wherever pip takes them on this machine.

A developer's machine or a CI runner often has a mirror, or a folder with wheels that are large
elsewhere, and says so to pip.
"""

from collections.abc import Mapping
from configparser import ConfigParser
from pathlib import Path

from deploy.environments.builder.package_sources import ORDINARY_INDEX, SETTING

SYSTEM_CONFIG = Path("/etc/pip.conf")


def packages_of_machine(environ: Mapping[str, str], system_config: Path = SYSTEM_CONFIG) -> str:
    """Return the builder's setting that means the index and the folders of this machine's pip.

    Args:
        environ: Environment of the program; its own setting goes first.

    Source:
        https://pip.pypa.io/en/stable/topics/configuration/
    """
    if environ.get(SETTING):
        return environ[SETTING]
    home = Path(environ.get("HOME", "/root"))
    own = Path(environ.get("XDG_CONFIG_HOME", home / ".config")) / "pip/pip.conf"
    files = ConfigParser(interpolation=None)
    files.read([system_config, home / ".pip/pip.conf", own, environ.get("PIP_CONFIG_FILE", own)])
    index = environ.get("PIP_INDEX_URL") or files.get("global", "index-url", fallback="")
    links = environ.get("PIP_FIND_LINKS") or files.get("global", "find-links", fallback="")
    folders = [word for word in links.split() if Path(word).is_dir()]
    return " ".join([index.strip() or ORDINARY_INDEX, *folders])
