"""The rank's side of a run; it imports nothing of the notebook's side."""
