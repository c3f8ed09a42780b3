"""TensorBoards in a session: started, listed, shown through the login, stopped."""
