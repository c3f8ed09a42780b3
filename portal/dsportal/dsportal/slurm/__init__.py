"""What Slurm says, as typed values: states, reasons, durations and lists of jobs.

Spawner, portal and kernels read it alike. Pure: nothing here runs a command or waits.
"""
