"""The GPUs of this machine: NVIDIA's if it has any, else simulated ones."""

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass

from deploy.common.command import run
from deploy.common.errors import DeployError

# Parts of a product's name that do not distinguish GPU types.
_VENDOR_WORDS = frozenset({"nvidia", "tesla", "quadro", "geforce", "graphics", "device"})
_VARIANT = re.compile(r"(?:\d+gb?|pcie|sxm\d*|nvl|hbm\d*e?|mig.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU of this machine."""

    minor: int
    gres_type: str


def gres_type(product_name: str) -> str:
    """Return Slurm's type name for a GPU model.

    Args:
        product_name: As nvidia-smi prints it, such as "Tesla V100-SXM2-32GB".

    Returns:
        Letters, digits and underscores, such as "v100" or "rtx_3090"; "gpu" if nothing else is
        left.
    """
    words = re.split(r"[\s-]+", product_name.lower())
    kept = [word for word in words if word not in _VENDOR_WORDS and not _VARIANT.fullmatch(word)]
    return re.sub(r"[^a-z0-9_]", "", "_".join(kept)) or "gpu"


def parse_nvidia_smi(xml: str) -> list[Gpu]:
    """Return the GPUs in the output of `nvidia-smi -q -x`, lowest device first.

    Source:
        nvidia-smi(1): elements gpu/product_name and gpu/minor_number.
    """
    # The document comes from the machine's own driver. It names a DTD that must not be fetched;
    # ElementTree never fetches one.
    document = ElementTree.fromstring(xml)  # noqa: S314
    gpus = [
        Gpu(
            minor=int(element.findtext("minor_number", "")),
            gres_type=gres_type(element.findtext("product_name", "")),
        )
        for element in document.iter("gpu")
        if element.findtext("minor_number", "").strip().isdigit()
    ]
    return sorted(gpus, key=lambda gpu: gpu.minor)


def find_gpus() -> list[Gpu]:
    """Return the NVIDIA GPUs of this machine."""
    try:
        return parse_nvidia_smi(run(["nvidia-smi", "-q", "-x"]))
    except (DeployError, ElementTree.ParseError):
        return []


def format_gres(gpus: list[Gpu]) -> str:
    """Return the value of a node's Gres=, such as "gpu:a100:2,gpu:t4:1"."""
    counts = Counter(gpu.gres_type for gpu in gpus)
    return ",".join(f"gpu:{name}:{count}" for name, count in counts.items())
