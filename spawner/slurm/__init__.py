"""Parsers and builders of Slurm's texts: output as typed values, values as arguments.

Pure: nothing here runs a command, waits, or knows JupyterHub. It may import `spawner.errors` only.
Each parser has a golden file of Slurm's own output.
"""
