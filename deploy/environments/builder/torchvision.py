"""torchvision beside a PyTorch without CUDA.

The ordinary index has one build of torchvision for Linux, made for PyTorch with CUDA. Its compiled
operators cannot be loaded without CUDA's libraries. torchvision expects that and has most of itself
in Python, but fails to be imported, and transformers with it, as it describes two operators that
nobody has declared. With the declarations models, transforms and data sets work;
`torchvision.ops.nms` and the readers of `torchvision.io` say that their operators are missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

from deploy.environments.builder.errors import BuildError
from deploy.environments.builder.process import run

NAME = "torchvision"
_DECLARATIONS = """

# Added by data-scientist-portal, since this PyTorch has no CUDA: torchvision/_meta_registrations.py
# describes these two even if the compiled operators are missing.
if not _has_ops():
    _operators = torch.library.Library("torchvision", "FRAGMENT")
    for _name in ("nms", "qnms"):
        _operators.define(_name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


def declare_operators(env_dir: Path, log: IO[str]) -> None:
    """Make torchvision importable in an environment whose PyTorch has no CUDA."""
    found = list(env_dir.glob(f"lib/python3*/site-packages/{NAME}/extension.py"))
    if len(found) != 1:
        raise BuildError(
            f"{NAME} in {env_dir} has no extension.py.",
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
        next_step=f"See in {Path(__file__).name} what this release of {NAME} expects.",
    )
