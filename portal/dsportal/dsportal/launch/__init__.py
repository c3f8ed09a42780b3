"""The Slurm side of a run: steps in the session's job, separate jobs, job files."""
