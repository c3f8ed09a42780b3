"""Apptainer for the demo, unpacked outside the system."""

import shutil
import tempfile
from pathlib import Path
from typing import IO

from deploy.environments.builder.debian import APT_GET, ensure_packages
from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import run

APPTAINER_DIR = Path("/opt/apptainer")
APPTAINER = APPTAINER_DIR / "bin/apptainer"
# Debian 12 has no package of it. That of the next release needs newer libraries than the system's,
# which stay apart.
APPTAINER_SOURCE = (
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
    " http://deb.debian.org/debian unstable main\n"
)
APPTAINER_PACKAGES = ("apptainer", "libc6", "libseccomp2", "libsqlite3-0")
_TOOLS = ("debian-archive-keyring", "patchelf", "squashfs-tools")
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_ELF_FILES = ("usr/bin/apptainer", f"{_LIBRARIES}/apptainer/bin/starter")
_SESSION_DIR = "var/lib/apptainer/mnt/session"


def install_apptainer(_: Plan, log: IO[str]) -> None:
    """Unpack Apptainer and the libraries it needs under its own prefix."""
    ensure_packages(_TOOLS, log)
    new = APPTAINER_DIR.with_name("apptainer.new")
    shutil.rmtree(new, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="apptainer-") as name:
        folder = Path(name)
        _download(folder, log)
        for package in folder.glob("*.deb"):
            is_program = package.name.startswith("apptainer_")
            run(["dpkg", "-x", package, new if is_program else folder / "system"], log=log)
        _take_libraries(folder / "system" / _LIBRARIES, new / "lib")
    _link(new)
    for file in _ELF_FILES:
        # Its libc is newer than the system's and works only with the loader of the same release.
        loader = ("--set-interpreter", f"{APPTAINER_DIR}/lib/ld-linux-x86-64.so.2")
        libraries = ("--force-rpath", "--set-rpath", f"{APPTAINER_DIR}/lib")
        run(["patchelf", *loader, *libraries, new / file], log=log)
    replace_folder(APPTAINER_DIR, new)


def _download(folder: Path, log: IO[str]) -> None:
    (folder / "sources.list").write_text(APPTAINER_SOURCE)
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    # Lists of its own, so that the system never installs anything from there.
    options = (
        *("-o", f"Dir::Etc::sourcelist={folder}/sources.list"),
        *("-o", "Dir::Etc::sourceparts=/dev/null"),
        *("-o", f"Dir::State::Lists={folder}/lists"),
        *("-o", f"Dir::Cache={folder}/cache"),
        *("-o", "Acquire::Languages=none"),
        # Unstable's lists are valid for a week, and a mirror may be further behind. The signature
        # still counts, and only tests use what comes of it.
        *("-o", "Acquire::Check-Valid-Until=false"),
        *("-o", "APT::Sandbox::User=root"),
    )
    hint = "See whether http://deb.debian.org/debian/dists/unstable can be reached."
    run([*APT_GET, *options, "update"], log=log, next_step=hint)
    run([*APT_GET, *options, "download", *APPTAINER_PACKAGES], log=log, cwd=folder, next_step=hint)


def _take_libraries(source: Path, target: Path) -> None:
    target.mkdir()
    for library in source.glob("*.so*"):
        shutil.copy2(library, target / library.name)


def _link(prefix: Path) -> None:
    """Create the paths in which the relocated programs look: under usr and under usr/lib."""
    for place in (prefix / "usr", prefix / "usr/lib"):
        (place / "etc").symlink_to(APPTAINER_DIR / "etc")
        (place / _SESSION_DIR).mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin/apptainer").symlink_to("../usr/bin/apptainer")
