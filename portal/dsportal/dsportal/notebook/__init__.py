"""The notebook's side of a run: start, display in the cell, end."""
