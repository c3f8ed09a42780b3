"""Write the table of what the shipped kernels hold into docs/use/packages.md, from the locks.

Run it from the root of the repository after a change of a lock:

    python docs/make_kernel_packages.py
"""

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from deploy.environments.builder.plan import Flavour, Plan  # noqa: E402
from deploy.environments.builder.uv import locked, read_pins, read_toml  # noqa: E402

PAGE = CHECKOUT / "docs/use/packages.md"
PLAN = Plan(flavour=Flavour.GPU)
# The kernels' names, and the environments of what they hold.
KERNELS = {"Python 3": "server", "TensorFlow": "tensorflow", "PyTorch": "pytorch"}
FRAMEWORKS = (
    *("tensorflow", "torch", "keras", "tensorboard"),
    *("torchvision", "transformers", "tokenizers", "accelerate", "peft", "datasets"),
    *("lightning", "dask", "onnx", "onnxruntime"),
)
BEGIN = "<!-- Made by docs/make_kernel_packages.py; do not edit this table by hand. -->\n"


def packages() -> list[str]:
    """Return the packages to show: the frameworks', then what all kernels may have."""
    groups = read_toml(PLAN.recipes_dir / "pyproject.toml")["dependency-groups"]
    return [*FRAMEWORKS, *sorted(groups["notebook"])]


def table() -> str:
    """Return the table, with the version of each package in each kernel on Python 3.11."""
    locks = [locked(PLAN, name).splitlines() for name in KERNELS.values()]
    # Of a package with several versions the first, which is that of the oldest Python.
    pins = [read_pins("\n".join(reversed(lines))) for lines in locks]
    rows = [[name, *(pin.get(name, "") for pin in pins)] for name in packages()]
    lines = [["package", *KERNELS], ["---"] * (len(KERNELS) + 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def render(page: str) -> str:
    """Return the page with the present table, which reaches to the next empty line."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.lstrip("\n").partition("\n\n")
    return f"{before}{BEGIN}\n{table()}\n{after}"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
