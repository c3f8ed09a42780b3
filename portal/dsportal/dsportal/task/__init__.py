"""Shared by the notebook and the ranks of a run: the files of the run's folder."""
