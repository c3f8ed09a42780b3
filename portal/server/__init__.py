"""Notebook server side: TensorBoards, templates and the session on the compute node."""
