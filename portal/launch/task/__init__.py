"""What the notebook and the ranks of a run share: the files of the run's folder."""
