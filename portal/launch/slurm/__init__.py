"""What a run asks of Slurm: steps of a session, jobs of their own, job files."""
