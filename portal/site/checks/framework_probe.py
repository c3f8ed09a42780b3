"""What a kernel's frameworks can do with the GPUs; the kernel's own Python runs this text.

It needs no package itself: each installed framework is imported, counts its GPUs and computes
something small on each. The last line of output is the result as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from typing import Any

MARK = "dsportal-check: "
N_ONES = 8


def probe_torch() -> dict[str, Any]:
    """Count the GPUs that PyTorch computes on.

    Returns:
        "version", "cuda" (the version that it was built for, or ""), "nccl" (whether it has
        NCCL), "gpus", and "said" if one of them does not compute.
    """
    import torch

    n_gpus = torch.cuda.device_count()

    def compute(index: int) -> float:
        return float(torch.ones(N_ONES, device=f"cuda:{index}").sum())

    return {
        "version": torch.__version__,
        "cuda": torch.version.cuda or "",
        # A PyTorch built without torch.distributed lacks the second function.
        "nccl": torch.distributed.is_available() and torch.distributed.is_nccl_available(),
        **computed(n_gpus, compute),
    }


def probe_tensorflow() -> dict[str, Any]:
    """Count the GPUs that TensorFlow computes on.

    Returns:
        "version", "cuda", "gpus" and "said", as for PyTorch.
    """
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        # Otherwise TensorFlow takes all memory of every GPU.
        tf.config.experimental.set_memory_growth(gpu, True)

    def compute(index: int) -> float:
        with tf.device(f"/GPU:{index}"):
            return float(tf.reduce_sum(tf.ones(N_ONES)))

    return {
        "version": tf.__version__,
        # A build for CPUs has no such key.
        "cuda": tf.sysconfig.get_build_info().get("cuda_version", ""),
        **computed(len(gpus), compute),
    }


def probe_horovod() -> dict[str, Any]:
    """Ask Horovod whether it averages gradients on the GPUs.

    Returns:
        "version" and "nccl", whether it was built with NCCL.
    """
    import horovod

    # Horovod was built for the framework beside it; importing it for another fails.
    if importlib.util.find_spec("tensorflow") is not None:
        import horovod.tensorflow as hvd
    else:
        import horovod.torch as hvd
    return {"version": horovod.__version__, "nccl": bool(hvd.nccl_built())}


LOOKS: dict[str, Callable[[], dict[str, Any]]] = {
    "torch": probe_torch,
    "tensorflow": probe_tensorflow,
    "horovod": probe_horovod,
}


def computed(n_gpus: int, compute: Callable[[int], float]) -> dict[str, Any]:
    """Add up ones on each GPU.

    Args:
        n_gpus: How many the framework sees.
        compute: Adds `N_ONES` ones on the GPU of a number.

    Returns:
        "gpus", on how many the sum was right, and "said" about the first other one, or "".
    """
    n_right, said = 0, ""
    for index in range(n_gpus):
        try:
            result = compute(index)
        except Exception as error:
            # Messages of CUDA have many lines; the first one names the fault.
            said = said or f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        else:
            n_right += result == N_ONES
            said = said or ("" if result == N_ONES else f"GPU {index} computes wrong sums")
    return {"gpus": n_right, "said": said}


def main() -> None:
    """Probe each installed framework, and print."""
    found: dict[str, dict[str, Any]] = {}
    for name, look in LOOKS.items():
        if importlib.util.find_spec(name) is None:
            continue
        try:
            found[name] = look()
        except Exception as error:
            last = (str(error).strip().splitlines() or [""])[-1]
            found[name] = {"failed": f"{type(error).__name__}: {last}"}
    print(MARK + json.dumps(found), flush=True)
    # A framework's clean-up may hang or fail, and does not matter here.
    os._exit(0)


if __name__ == "__main__":
    main()
