"""Training on several GPUs and nodes, started from a notebook."""
