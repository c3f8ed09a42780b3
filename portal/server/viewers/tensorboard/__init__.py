"""The TensorBoards of a session."""
