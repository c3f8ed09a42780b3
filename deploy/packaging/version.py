"""One release: its version and day, and what these change in the texts that are published."""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from deploy.common.errors import DeployError

# Each says the version: the portal's, and that of the library which users import.
VERSION_FILES = ("spawner/__init__.py", "portal/dsportal/dsportal/__init__.py")
CHANGELOG = "CHANGELOG.md"
README = "README.md"
SETUP = "setup.cfg"
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.M)
# Links to files of the repository, which the pages of an index do not have. Images first: a link
# may surround one.
_IMAGE = re.compile(r"(!\[[^\]]*\])\((?!https?:|#)([^)\s]+)\)")
_LINK = re.compile(r"(\])\((?!https?:|#)([^)\s]+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What is released.

    Attributes:
        version: Such as "0.1.0".
        day: The day of its commit.
        address: Where the repository is, such as "https://forge.example/site/portal".
        maintainer: "Name <mail>", for the packages of the distributions.
    """

    version: str
    day: date
    address: str
    maintainer: str

    @property
    def tag(self) -> str:
        """Name of the tag in git."""
        return f"v{self.version}"


def read_version(checkout: Path) -> str:
    """Return the version that a checkout says it is."""
    found = {name: _VERSION.findall((checkout / name).read_text()) for name in VERSION_FILES}
    versions = {version for versions in found.values() for version in versions}
    if len(versions) != 1:
        raise DeployError(
            f"{' and '.join(VERSION_FILES)} should say one version, and say: "
            f"{', '.join(sorted(versions)) or 'none'}.",
            "Write the version to be released into both.",
        )
    (version,) = versions
    return str(version)


def notes(changelog: str, version: str) -> str:
    """Return what a changelog says of one version, without its heading."""
    _, _, rest = changelog.partition(f"\n## [{version}]")
    _, _, entries = rest.partition("\n")
    return re.split(r"^## ", entries, maxsplit=1, flags=re.M)[0].strip() + "\n"


def with_absolute_links(text: str, release: Release) -> str:
    """Return a page whose images and links lead to the released files at the repository."""
    files = f"{release.address}/{{}}/{release.tag}/"
    with_images = _IMAGE.sub(rf"\1({files.format('raw')}\2)", text)
    return _LINK.sub(rf"\1({files.format('blob')}\2)", with_images)


def with_addresses(setup: str, release: Release) -> str:
    """Return setup.cfg with the addresses that an index shows beside a package."""
    links = {
        "Source": release.address,
        "Changelog": f"{release.address}/blob/{release.tag}/{CHANGELOG}",
        "Documentation": f"{release.address}/blob/{release.tag}/docs/index.md",
    }
    lines = "".join(f"    {name} = {link}\n" for name, link in links.items())
    return setup.replace("[metadata]\n", f"[metadata]\nproject_urls =\n{lines}", 1)
