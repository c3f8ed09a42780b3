"""The session as its user sees it: time left, use of GPUs, cores and memory, idleness."""
