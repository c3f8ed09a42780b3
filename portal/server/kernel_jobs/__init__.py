"""GPUs that belong to a kernel: a notebook's kernel in a Slurm job of its own."""
