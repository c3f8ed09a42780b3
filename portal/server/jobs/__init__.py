"""The user's Slurm jobs: the Jobs page and its REST interface."""
