"""Jobs and runs: the user's Slurm jobs, and the trainings of `dsportal.run`, as one list."""
