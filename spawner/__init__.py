"""Turn what a user asks for into a Slurm job that is a Jupyter server."""

__version__ = "0.1.0"
