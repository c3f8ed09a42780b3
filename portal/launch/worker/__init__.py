"""The rank's side of a run. Of the notebook's side it imports nothing."""
