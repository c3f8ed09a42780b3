"""Which part may import which: the rules that keep the environments apart."""

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.source_code import statements, tree_of

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("spawner", "portal", "notebook_templates")
FRAMEWORKS = ("tensorflow", "keras", "horovod", "torch", "mxnet", "tensorboard")

DSPORTAL = "portal/dsportal/dsportal"
# What starts and follows runs: no program of the portal but `dsportal job` and kernels need it.
RUNS = (
    *("dsportal.assistant", "dsportal.data", "dsportal.frameworks", "dsportal.launch"),
    "dsportal.notebook",
    *("dsportal.rendezvous", "dsportal.scaling", "dsportal.task", "dsportal.worker"),
)
# What runs in a kernel, and only there.
KERNELS = ("dsportal.packages", "dsportal.start.kernel_ports", "dsportal.start.kernel_start")

# A part, and what it must not import.
FORBIDDEN = {
    "spawner": ("portal", "notebook_templates", "deploy", "tests", *FRAMEWORKS, *RUNS, *KERNELS),
    "portal": ("deploy", "tests"),
    "portal/hub": (
        "portal.server",
        "portal.site",
        "notebook_templates",
        *FRAMEWORKS,
        *RUNS,
        *KERNELS,
    ),
    # Its list of runs reads their folders.
    "portal/server": (
        *("portal.hub", "batchspawner", "tensorflow", "keras"),
        *(room for room in RUNS if room != "dsportal.task"),
    ),
    "portal/environments": ("portal.hub", "portal.server", "jupyter_server", *RUNS),
    "portal/packages": ("portal.hub", "portal.server", "jupyter_server", *RUNS),
    DSPORTAL: ("portal", "spawner", "notebook_templates", "jupyterhub", "jupyter_server"),
    "notebook_templates": ("portal.hub", "portal.server", "spawner", "deploy", "tests"),
    "deploy/environments": ("tests", "spawner", "portal", "dsportal", "notebook_templates"),
    "deploy/common": ("tests", "deploy.one_machine", "deploy.site"),
    "deploy/one_machine": ("tests", "deploy.site"),
    "deploy/site": ("tests", "deploy.one_machine"),
}
# What may import in a function what the rest of its part must not: the nodes never call it.
EXCEPTED = {
    "spawner/__init__.py": "portal.hub.existing_hub",
    # A kernel's job inherits what a run's does.
    "portal/server/kernel_jobs/provisioner.py": "dsportal.launch.sbatch",
}
# The rooms of a package, and the other rooms of it that each may import. Modules beside the rooms
# are for all of them, or above all of them.
ROOMS: dict[str, dict[str, tuple[str, ...]]] = {
    "spawner": {
        "slurm": (),
        "settings": ("slurm",),
        "client": ("settings", "slurm"),
        "options": ("settings", "slurm", "client"),
        "forecast": ("slurm", "options"),
        "session": ("settings", "slurm", "client", "options", "forecast"),
        "hub": ("settings", "slurm", "client", "options", "forecast", "session"),
        "node": ("settings",),
        "programs": (),
    },
    "portal/hub": {
        "settings": (),
        "log": (),
        "hubs": ("settings",),
        "auth": ("settings", "hubs"),
        "network": ("settings", "auth"),
        "messages": ("settings",),
        "sharing": (),
        "pages": ("settings", "network", "messages", "sharing"),
        "mail": ("settings", "pages"),
        "form": ("settings", "pages"),
        "admin": ("settings", "auth", "messages", "pages"),
    },
    "portal/server": {
        "patches": (),
        "base": ("patches",),
        # No feature imports another, so that each can be left out.
        "collaboration": ("base",),
        "courses": ("base",),
        "downloads": ("base",),
        "environments": ("base",),
        "exports": ("base",),
        "files": ("base",),
        "git": ("base", "patches"),
        "jobs": ("base",),
        "kernel_jobs": ("base", "patches"),
        "kernels": ("base", "patches"),
        "notebook_jobs": ("base",),
        "ports": ("base",),
        "reading": ("base",),
        "rescue": ("base",),
        "s3": ("base",),
        "session": ("base",),
        "sharing": ("base", "patches"),
        "ssh": ("base",),
        "storage": ("base",),
        "templates": ("base",),
        "terminals": ("base",),
        "viewers": ("base",),
        "web_tools": ("base",),
    },
    DSPORTAL: {
        "slurm": (),
        "diagnosis": ("slurm",),
        "start": (),
        "laptop": (),
        "packages": (),
        "data": (),
        "task": (),
        "rendezvous": ("task", "start"),
        "launch": ("task", "slurm", "diagnosis"),
        "worker": ("task", "rendezvous"),
        "frameworks": ("worker",),
        "notebook": ("task", "rendezvous", "slurm", "launch", "worker"),
        "scaling": ("rendezvous", "launch"),
        "assistant": ("notebook",),
    },
    "portal/site": {"checks": (), "commands": ()},
}
# What `dsportal` may import besides the standard library: it runs in any environment.
OF_A_KERNEL = {
    *("tensorflow", "keras", "horovod", "torch"),
    *("numpy", "pandas", "cloudpickle", "IPython", "ipykernel", "zmq", "dsportal"),
    # Of a pruner that the user has made with it.
    "optuna",
    # For ssh alone, and for the token, on a laptop.
    "websocket",
    "keyring",
}


def imports(nodes: Iterable[ast.AST], package: str) -> Iterator[str]:
    """Yield the full names that these nodes of a module import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(
                [*(parents if node.level else []), *([node.module] if node.module else [])]
            )
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements but those that only type checkers read."""
    return statements(tree, without_types=True)


def package_of(path: Path) -> str:
    parts = path.relative_to(CHECKOUT).parent.parts
    return ".".join(parts[2:] if path.is_relative_to(CHECKOUT / DSPORTAL) else parts)


def modules(folder: str) -> list[Path]:
    return sorted((CHECKOUT / folder).rglob("*.py"))


@cache
def imports_of(path: Path) -> frozenset[str]:
    return frozenset(imports(statements(tree_of(path)), package_of(path)))


@cache
def run_time_imports_of(path: Path) -> frozenset[str]:
    return frozenset(imports(at_run_time(tree_of(path)), package_of(path)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import deploy.up", "deploy.up"),
        ("def f():\n    from portal import hub", "portal.hub"),
        ("from ..hub.settings import Settings", "portal.hub.settings"),
        ("from . import options", "portal.server.options"),
    ],
)
def test_every_way_to_import_is_seen(text: str, expected: str) -> None:
    assert expected in set(imports(statements(ast.parse(text)), "portal.server"))


def test_what_only_type_checkers_import_is_not_needed_at_run_time() -> None:
    text = "if TYPE_CHECKING:\n    import keras\nelse:\n    import torch"

    assert set(imports(at_run_time(ast.parse(text)), "portal")) == {"torch"}


@pytest.mark.parametrize("part", FORBIDDEN)
def test_a_part_imports_nothing_that_its_environment_lacks(part: str) -> None:
    wrong = [
        f"{path.relative_to(CHECKOUT)} imports {name}"
        for path in modules(part)
        for name in sorted(imports_of(path))
        if any(name == ban or name.startswith(f"{ban}.") for ban in FORBIDDEN[part])
        and not name.startswith(EXCEPTED.get(str(path.relative_to(CHECKOUT)), "-"))
    ]

    assert modules(part)
    assert wrong == []


@pytest.mark.parametrize("part", ROOMS)
def test_a_room_imports_only_the_rooms_below_it(part: str) -> None:
    wrong = []
    for room, below in ROOMS[part].items():
        for path in modules(f"{part}/{room}"):
            for name in sorted(run_time_imports_of(path)):
                words = name.removeprefix(package_of(CHECKOUT / part / "x.py") + ".").split(".")
                if words[0] in ROOMS[part] and words[0] not in {room, *below}:
                    wrong.append(f"{path.relative_to(CHECKOUT)} imports {name}")

    assert wrong == []


@pytest.mark.parametrize("part", ROOMS)
def test_each_room_is_listed_and_says_what_belongs_there(part: str) -> None:
    rooms = {path.parent.name: path for path in (CHECKOUT / part).glob("*/__init__.py")}
    silent = [name for name, path in rooms.items() if not ast.get_docstring(tree_of(path))]

    assert rooms.keys() == ROOMS[part].keys()
    assert silent == []


def test_what_runs_in_kernels_needs_nothing_but_python_and_its_framework() -> None:
    roots = {
        name.partition(".")[0] for path in modules(DSPORTAL) for name in run_time_imports_of(path)
    }

    assert roots - OF_A_KERNEL - sys.stdlib_module_names == set()


@pytest.mark.parametrize("room", ["slurm", "diagnosis", "packages"])
def test_what_hub_and_kernels_share_needs_only_the_standard_library(room: str) -> None:
    roots = {
        name.partition(".")[0]
        for path in modules(f"{DSPORTAL}/{room}")
        for name in run_time_imports_of(path)
    }

    assert roots - sys.stdlib_module_names <= {"dsportal"}


def test_on_a_laptop_there_is_only_python_and_what_the_file_brings_along() -> None:
    names = {name for path in modules(f"{DSPORTAL}/laptop") for name in run_time_imports_of(path)}
    own = {name for name in names if name.partition(".")[0] == "dsportal"}

    others = {name.partition(".")[0] for name in names - own}
    assert others <= {*sys.stdlib_module_names, "websocket", "keyring"}
    brought = ("dsportal.amounts", "dsportal.laptop", "dsportal.tool", "dsportal.__version__")
    assert [n for n in own if n != "dsportal" and not n.startswith(brought)] == []


PROGRAMS = [
    *(path for path in modules("spawner/programs") if path.name != "__init__.py"),
    CHECKOUT / "portal/site/checks/node_probe.py",
]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_that_starts_alone_needs_only_the_standard_library(path: Path) -> None:
    roots = {name.partition(".")[0] for name in imports_of(path)}

    assert roots - sys.stdlib_module_names == set()


def test_nothing_imports_a_program_that_sudo_starts() -> None:
    wrong = [
        f"{path.relative_to(CHECKOUT)} imports {name}"
        for package in PACKAGES
        for path in modules(package)
        for name in sorted(imports_of(path))
        if name.startswith("spawner.programs")
    ]

    assert wrong == []


def test_nothing_is_imported_from_a_folder_that_is_not_installed() -> None:
    roots = {name.partition(".")[0] for p in PACKAGES for m in modules(p) for name in imports_of(m)}

    assert roots & {"deploy", "tests", "docs"} == set()
