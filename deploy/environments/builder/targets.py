"""The list of what can be built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from deploy.environments.builder import (
    apptainer,
    axe,
    datasets,
    debian,
    environment,
    extras,
    files,
    horovod,
    horovod_build,
    image,
    kernels,
    labextension,
    modules,
    node,
    package,
    promtool,
    proxy,
    pytorch,
    server,
    unpacked,
    uv,
)
from deploy.environments.builder.horovod_build import Framework
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.target import PROGRAMS_DIR, Target

BROWSER_PACKAGES = ("chromium", "fonts-dejavu-core")


def _environment_target(name: str, summary: str) -> Target:
    def build(plan: Plan, log: IO[str]) -> None:
        environment.install_environment(plan, name, log)

    def made_from(plan: Plan) -> list[Path | str]:
        own = [extras.extras_path(plan, name)] if name in extras.ENVIRONMENTS else []
        return [plan.pins(name), *own, plan.interpreter]

    def results(plan: Plan) -> list[Path]:
        return [plan.environment(name) / "bin/python"]

    return Target(
        name=name,
        summary=summary,
        build=build,
        made_from=made_from,
        results=results,
        needs=(uv.NAME,),
    )


def _debian_target(name: str, summary: str, packages: Sequence[str], result: str) -> Target:
    return Target(
        name=name,
        summary=summary,
        build=lambda plan, log: debian.ensure_packages(packages, log),
        made_from=lambda plan: [*packages],
        results=lambda plan: [Path(result)],
    )


def _unpacked_target(name: str, summary: str, package: str, program: str) -> Target:
    return Target(
        name=name,
        summary=summary,
        build=lambda plan, log: unpacked.unpack(plan, package, log),
        made_from=lambda plan: [package],
        results=lambda plan: [unpacked.program(plan, package, program)],
        code=("unpacked",),
    )


def _server_sources(plan: Plan) -> Iterable[Path | str]:
    own = extras.extras_path(plan, "server")
    return [plan.pins("server"), own, server.settings_dir(plan), plan.interpreter]


def _package_sources(plan: Plan) -> Iterable[Path | str]:
    rebuilt = (plan.stamps_dir / name for name in package.present_environments(plan))
    return [*package.sources(plan), plan.pins("package"), *rebuilt]


def _package_results(plan: Plan) -> Iterable[Path]:
    names = package.present_environments(plan)
    return [plan.environment(name) / "bin/dsportal" for name in names]


def _install_mxnet(plan: Plan, log: IO[str]) -> None:
    environment.install_environment(plan, kernels.MXNET_NAME, log)
    kernels.install_mxnet(plan)


def _install_modules(_: Plan, log: IO[str]) -> None:
    modules.install_modules(log)


def _install_apptainer(_: Plan, log: IO[str]) -> None:
    apptainer.install_apptainer(log)


TARGETS = (
    Target(
        name=uv.NAME,
        summary="installing uv, which installs all other Python packages",
        build=environment.install_uv,
        made_from=lambda plan: [plan.pins(uv.NAME), plan.interpreter],
        results=lambda plan: [uv.uv_program(plan)],
    ),
    # The longest chain first.
    _environment_target("tensorflow", "installing TensorFlow, a large download"),
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
        build=server.install_server,
        made_from=_server_sources,
        results=lambda plan: [plan.environment("server") / "bin/jupyter-lab"],
        needs=("uv",),
        code=("server",),
    ),
    Target(
        name=pytorch.NAME,
        summary="installing PyTorch",
        build=pytorch.install_pytorch,
        made_from=lambda plan: [*pytorch.locks(plan), plan.interpreter],
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
    Target(
        name="mxnet",
        summary="installing MXNet, which is not developed any more, with its kernel",
        build=_install_mxnet,
        made_from=lambda plan: [
            plan.pins("mxnet"),
            plan.source_dir / kernels.PYTHON_START,
            plan.interpreter,
        ],
        results=lambda plan: [kernels.spec_dir(plan, kernels.MXNET_NAME) / "kernel.json"],
        needs=("uv", "server"),
        code=("kernels",),
    ),
    _environment_target("hub", "installing JupyterHub and what it needs"),
    _environment_target("tensorboard", "installing TensorBoard"),
    Target(
        name="node",
        summary="looking for Node.js, or installing it",
        build=node.install_node,
        made_from=lambda plan: [node.describe_choice(plan)],
        results=lambda plan: [plan.node_dir / "bin/node", plan.node_dir / "bin/npm"],
        needs=("uv",),
        code=("node",),
    ),
    Target(
        name="proxy",
        summary="installing configurable-http-proxy",
        build=proxy.install_proxy,
        made_from=lambda plan: [plan.recipes_dir / "proxy"],
        results=lambda plan: [proxy.program(plan)],
        needs=("node",),
        code=("proxy",),
    ),
    Target(
        name="python3",
        summary="describing the Python 3 kernel",
        build=kernels.install_python3,
        made_from=lambda plan: [
            plan.pins("server"),
            plan.source_dir / kernels.PYTHON_START,
            plan.interpreter,
        ],
        results=lambda plan: [kernels.spec_dir(plan, kernels.PYTHON3_NAME) / "kernel.json"],
        needs=("server",),
        code=("kernels",),
    ),
    Target(
        name="kernels",
        summary="describing the kernels of the frameworks",
        build=kernels.install_kernels,
        made_from=lambda plan: [
            plan.pins("tensorflow"),
            *pytorch.locks(plan),
            plan.source_dir / kernels.PYTHON_START,
            plan.interpreter,
        ],
        results=lambda plan: [
            kernels.spec_dir(plan, name) / "kernel.json" for name in kernels.NAMES
        ],
        needs=("server", "tensorflow", "pytorch"),
        code=("kernels",),
    ),
    Target(
        name="r",
        summary="installing R with its kernel",
        build=kernels.install_r,
        made_from=lambda plan: [*kernels.R_PACKAGES, plan.source_dir / kernels.R_START],
        results=lambda plan: [kernels.spec_dir(plan, kernels.R_NAME) / "kernel.json"],
        needs=("server",),
        code=("kernels",),
    ),
    Target(
        name="datasets",
        summary="making the file of handwritten digits",
        build=datasets.install_datasets,
        made_from=lambda plan: [datasets.README, PROGRAMS_DIR / "mnist_digits.py"],
        results=lambda plan: [datasets.digits_path(plan)],
        needs=("node", "server"),
        code=("datasets",),
    ),
    Target(
        name="launcher",
        summary="installing the programs that sudo allows",
        build=files.install_launcher,
        made_from=lambda plan: [
            *(files.programs_dir(plan) / name for name in files.launcher_programs(plan)),
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
            *("hub", "server", "tensorboard", "tensorflow", "pytorch", "mxnet"),
            *("horovod", "horovod-pytorch"),
        ),
        code=("package",),
    ),
    _environment_target("test", "installing the tools that test the portal"),
    _debian_target(
        "curl",
        "installing curl for the tests on the cluster",
        ["curl"],
        "/usr/bin/curl",
    ),
    _debian_target(
        "browser",
        "installing Chromium for the browser tests",
        BROWSER_PACKAGES,
        "/usr/bin/chromium",
    ),
    Target(
        name="axe",
        summary="installing axe-core for the browser tests",
        build=axe.install_axe,
        made_from=lambda plan: [plan.recipes_dir / "axe"],
        results=lambda plan: [axe.script(plan)],
        needs=("node",),
        code=("axe",),
    ),
    Target(
        name="labextension",
        summary="installing what checks and builds the labextension",
        build=labextension.install_modules,
        made_from=lambda plan: [labextension.sources(plan) / name for name in labextension.LOCKED],
        results=lambda plan: [labextension.modules(plan)],
        needs=("node",),
        code=("labextension",),
    ),
    _debian_target(
        "ansible",
        "installing Ansible for the tests of the role",
        ["ansible-core"],
        "/usr/bin/ansible-playbook",
    ),
    Target(
        name="modules",
        summary="installing environment-modules and Lmod for the kernel tests",
        build=_install_modules,
        made_from=lambda plan: [*modules.PACKAGES],
        results=lambda plan: [Path("/usr/share/modules/init/bash"), modules.LMOD_LINK],
        code=("modules",),
    ),
    _debian_target(
        "jython",
        "installing Jython, a Python 2, for the kernel tests",
        ["jython"],
        "/usr/bin/jython",
    ),
    _unpacked_target(
        "registry",
        "unpacking a container registry for the kernel tests",
        "docker-registry",
        "usr/bin/docker-registry",
    ),
    _unpacked_target(
        "promtool",
        "unpacking promtool for the tests of the alerts",
        promtool.package(),
        promtool.PROGRAM,
    ),
    _unpacked_target(
        "nginx",
        "unpacking nginx for the tests of the TLS front end",
        "nginx",
        "usr/sbin/nginx",
    ),
    Target(
        name="apptainer",
        summary="unpacking Apptainer for the kernel tests",
        build=_install_apptainer,
        made_from=lambda plan: [apptainer.SOURCE, *apptainer.PACKAGES],
        results=lambda plan: [apptainer.PROGRAM],
        code=("apptainer",),
    ),
    Target(
        name="image",
        summary="making a container image for the kernel tests",
        build=image.make_image,
        made_from=lambda plan: [*image.PACKAGES],
        results=lambda plan: [image.image_dir(plan) / "index.json"],
        needs=("uv", "server"),
        code=("image",),
    ),
)

BY_NAME = {target.name: target for target in TARGETS}
ONLY_FOR_TESTS = (
    *("test", "curl", "browser", "axe", "labextension", "ansible", "promtool", "nginx"),
    *("modules", "jython", "registry", "apptainer", "image"),
)
OPTIONAL = ("mxnet", "horovod-pytorch")
ALL = tuple(name for name in BY_NAME if name not in (*ONLY_FOR_TESTS, *OPTIONAL))
# Compiled for minutes, for what PyTorch's own ranks do on the CPU as well.
ONLY_FOR_GPUS = ("horovod-pytorch",)


def with_needs(names: Iterable[str]) -> list[Target]:
    """Return targets and everything that they need, each once, in the order of TARGETS."""
    wanted = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left.extend(BY_NAME[name].needs)
    return [target for target in TARGETS if target.name in wanted]
