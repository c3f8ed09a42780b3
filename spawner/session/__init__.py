"""One session from submission to end, and what all sessions of a hub share.

What lives in time is here: tasks, caches, state. It may use the rooms of Slurm, options and
forecasts, and none that answers a browser.
"""
