"""Turns a user's request into a Slurm job that runs a Jupyter server."""

__version__ = "0.1.0"
