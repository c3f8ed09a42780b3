"""code-server, which is VS Code in a browser, without compilers and without what calls home."""

import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from deploy.environments.builder.code_server_outputs import distrust_outputs
from deploy.environments.builder.code_server_settings import set_defaults
from deploy.environments.builder.files import replace_folder, write_program
from deploy.environments.builder.node import install_locked
from deploy.environments.builder.plan import Plan

NAME = "code-server"
# Built from package.json and lock in folders of these names.
RECIPES = (NAME, "code-server-vscode")
EXTENSION = "code-server-extension"
# Ours for compiled ones, by their names under @vscode.
MODULES = "code-server-modules"
_PRUNED_EXTENSIONS = ("copilot", "microsoft-authentication", "tunnel-forwarding")
_ARCHITECTURES = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}


def program(plan: Plan) -> Path:
    """Return the program that starts code-server."""
    return plan.prefix / NAME / "bin" / NAME


def made_from(plan: Plan) -> Iterator[Path | str]:
    """Yield what the result depends on."""
    yield from (plan.recipes_dir / name for name in (*RECIPES, EXTENSION, MODULES))


def install_code_server(plan: Plan, log: IO[str]) -> None:
    """Install code-server with the portal's extension.

    Its own postinstall would compile modules that a session does not need, with npm's scripts as
    root, and fetch agents of other companies. So the server of VS Code gets its packages from a
    lock of our own, which leaves them out.
    """
    node = plan.node_dir / "bin/node"
    folder = plan.prefix / NAME
    staging, of_vscode = folder.with_name(f"{NAME}.new"), folder.with_name(f"{NAME}.vscode")
    for recipe, target in zip(RECIPES, (staging, of_vscode), strict=True):
        install_locked(plan, plan.recipes_dir / recipe, target, log, options=["--omit=dev"])
    package = staging / "node_modules" / NAME
    vscode = package / "lib/vscode"
    shutil.move(of_vscode / "node_modules", vscode / "node_modules")
    shutil.rmtree(of_vscode)
    _prune(vscode)
    set_defaults(vscode)
    distrust_outputs(vscode)
    modules = vscode / "node_modules/@vscode"
    shutil.copytree(plan.recipes_dir / MODULES, modules, dirs_exist_ok=True)
    _link(vscode / "extensions/node_modules/typescript", "../../node_modules/typescript")
    # The programs of its terminals: the command code-server, and the opening of addresses.
    _link(vscode / "bin/remote-cli/code-server", "code-linux.sh")
    _link(vscode / "bin/helpers/browser.sh", "browser-linux.sh")
    _link(package / "lib/node", str(node))
    shutil.copytree(plan.recipes_dir / EXTENSION, vscode / "extensions/data-scientist-portal")
    entry = folder / "node_modules" / NAME / "out/node/entry.js"
    write_program(staging / "bin" / NAME, f'#!/bin/sh\nexec "{node}" "{entry}" "$@"\n')
    replace_folder(folder, staging)


def _prune(vscode: Path) -> None:
    for name in _PRUNED_EXTENSIONS:
        shutil.rmtree(vscode / "extensions" / name)
    for source_map in [*vscode.glob("extensions/**/*.map"), *vscode.glob("node_modules/**/*.map")]:
        source_map.unlink()
    # Each has binaries for every platform.
    own = _ARCHITECTURES.get(platform.machine(), "")
    modules = vscode / "node_modules"
    for folder in (modules / "@vscode/ripgrep-universal/bin", modules / "node-pty/prebuilds"):
        if (folder / own).is_dir() and own:
            for other in folder.iterdir():
                if other.name != own:
                    shutil.rmtree(other)


def _link(link: Path, target: str) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)
