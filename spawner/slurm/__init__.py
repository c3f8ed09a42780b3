"""Slurm's texts as values, and values as Slurm's texts.

Pure: nothing here runs a command, waits, or knows JupyterHub. It may import `spawner.errors` only.
Each parser has a golden file of Slurm's own output.
"""
