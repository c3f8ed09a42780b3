"""Clients of Slurm and of the programs that sudo allows.

The only room that starts a process on the head node. It knows nothing of JupyterHub and may
import `spawner.slurm` and `dsportal.diagnosis`.
"""
