"""The modules of `spawner.slurm` that a notebook needs."""
