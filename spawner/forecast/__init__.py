"""When a session would start: the query, Slurm's forecast, and how good forecasts were."""
