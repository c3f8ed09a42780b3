"""Slurm's states and reasons in words: the spawner's own modules, linked.

Kernels have no package `spawner`, and one of their environment may be called that.
"""
