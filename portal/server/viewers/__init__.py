"""Viewers of folders, TensorBoard and MLflow: start, list, forward behind the login, stop."""
