"""Parsers and builders of Slurm's texts: output as typed values, values as arguments.

Pure: nothing here runs a command, waits, or knows JupyterHub. It may import `dsportal.slurm` and
`spawner.errors` only.
Each parser has a golden file of Slurm's own output.

The fields that a command is asked for stand beside the parser of its answer: those of squeue, sacct
and scontrol in the module of that name, of sinfo in `catalog`, of sacctmgr in `associations`.
"""
