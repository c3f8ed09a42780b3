"""GPUs in Slurm's lists of trackable resources (TRES), such as "cpu=8,mem=48G,gres/gpu=2"."""

_GPU = "gres/gpu"


def gpus_in_tres(*lists: str) -> dict[str, int]:
    """Return the GPUs by type; those of any type have the type "".

    Of several numbers for one type the lowest counts.

    Source:
        sacctmgr(1), TRES limits, and squeue(1), tres-alloc, Slurm 22.05 to 25.11.
    """
    n_gpus: dict[str, int] = {}
    for entry in ",".join(lists).split(","):
        name, _, number = entry.partition("=")
        # Not every name that begins so: gres/gpumem and gres/gpuutil are no numbers of GPUs.
        if (name == _GPU or name.startswith(f"{_GPU}:")) and number.isdecimal():
            gpu_type = name.removeprefix(_GPU).removeprefix(":")
            n_gpus[gpu_type] = min(n_gpus.get(gpu_type, int(number)), int(number))
    return n_gpus
