"""A notebook as a Slurm job, from the notebook's toolbar and the file browser."""
