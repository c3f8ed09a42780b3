"""The notebook's side of a run: it is started, shown in the cell, and ended."""
