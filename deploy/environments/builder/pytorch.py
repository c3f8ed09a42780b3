"""PyTorch in the chosen flavour.

The ordinary index has one build of PyTorch for Linux, with CUDA; it cannot be imported without its
CUDA libraries, 2.6 GB to download and 5 GB on disk. PyTorch's own index,
https://download.pytorch.org, has one without, "+cpu", of 0.2 GB. Flavour cpu takes that if it can
be had, else the one with CUDA, which trains on the CPU as well. uv.lock names files of the ordinary
index alone, so the other build has a file of its own.

The ordinary index has one build of torchvision for Linux, made for PyTorch with CUDA. Its compiled
operators cannot be loaded without CUDA's libraries. torchvision expects that and has most of itself
in Python, but fails to be imported, and transformers with it, as it describes two operators that
nobody has declared. With the declarations models, transforms and data sets work;
`torchvision.ops.nms` and the readers of `torchvision.io` say that their operators are missing.
"""

import os
from pathlib import Path
from typing import IO

from deploy.common.errors import DeployError
from deploy.environments.builder import uv
from deploy.environments.builder.environment import install_environment, installed_packages, sources
from deploy.environments.builder.package_sources import package_sources
from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.process import run

NAME = "pytorch"
PACKAGE = "torch"
# What comes with the build for CUDA, by the beginnings of their names.
OF_CUDA = ("nvidia-", "cuda-", "triton")
_DECLARATIONS = """

# Added by data-scientist-portal, since this PyTorch has no CUDA: torchvision/_meta_registrations.py
# describes these two even if the compiled operators are missing.
if not _has_ops():
    _operators = torch.library.Library("torchvision", "FRAGMENT")
    for _name in ("nms", "qnms"):
        _operators.define(_name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


def install_pytorch(plan: Plan, log: IO[str]) -> None:
    """Install the environment of the PyTorch kernel."""
    requirements = uv.locked(plan, NAME)
    without_cuda = build_without_cuda(plan, log)
    if without_cuda:
        requirements = replace_cuda(requirements, without_cuda)
    install_environment(plan, NAME, log, requirements)
    if without_cuda:
        declare_operators(plan.environment(NAME), log)


def replace_cuda(requirements: str, without_cuda: str) -> str:
    """Return the requirements of the environment with the build without CUDA."""
    of_cuda = (name for name in uv.read_pins(requirements) if name.startswith(OF_CUDA))
    return f"{uv.without(requirements, (PACKAGE, *of_cuda))}\n{without_cuda}"


def made_from(plan: Plan) -> list[Path | str]:
    """Return what the environment is made from."""
    return [*sources(plan, NAME), *([_file(plan)] if plan.flavour is Flavour.CPU else [])]


def _file(plan: Plan) -> Path:
    return plan.recipes_dir / f"torch-cpu-{plan.python_release}.txt"


def build_without_cuda(plan: Plan, log: IO[str]) -> str:
    """Return the requirement of the build without CUDA if it is wanted, and there or available.

    Returns:
        Its version and hash; empty for the one with CUDA.
    """
    if plan.flavour is Flavour.GPU or not _file(plan).exists():
        return ""
    requirement = _file(plan).read_text()
    version = uv.read_pins(requirement)[PACKAGE]
    # An installed build stays even if no index offers it any more.
    is_there = installed_packages(plan, plan.environment(NAME)).get(PACKAGE) == version
    if is_there or _is_offered(plan, f"{PACKAGE}=={version}"):
        return requirement
    print(f"{PACKAGE}=={version} is not offered: the one with CUDA is installed", file=log)
    return ""


def _is_offered(plan: Plan, requirement: str) -> bool:
    if not package_sources(os.environ).has_more_than_ordinary:
        return False
    options = ("--dry-run", "--no-deps", requirement)
    return uv.ask_pip(plan, "install", plan.environment("uv"), *options) is not None


def declare_operators(env_dir: Path, log: IO[str]) -> None:
    """Make torchvision importable in an environment whose PyTorch has no CUDA."""
    found = list(env_dir.glob("lib/python3*/site-packages/torchvision/extension.py"))
    if len(found) != 1:
        raise DeployError(
            f"torchvision in {env_dir} has no extension.py.",
            f"See in {Path(__file__).name} whether this release can do without.",
        )
    text = found[0].read_text()
    if not text.endswith(_DECLARATIONS):
        # A new file: uv links those of its cache into the environment.
        changed = found[0].with_suffix(".new")
        changed.write_text(text + _DECLARATIONS)
        changed.replace(found[0])
    python = env_dir / "bin/python"
    # Users cannot write the compiled file.
    run([python, "-m", "compileall", "-q", found[0]], log=log)
    run(
        [python, "-c", "from torchvision.models import resnet18"],
        log=log,
        next_step=f"See in {Path(__file__).name} what this release of torchvision expects.",
    )
