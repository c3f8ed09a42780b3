"""MLflow in a session: where kernels log runs, and the pages of folders that hold runs."""
