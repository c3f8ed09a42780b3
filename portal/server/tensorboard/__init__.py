"""The TensorBoards of a session: start, list, forward behind the login, stop."""
