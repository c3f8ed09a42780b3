"""The kernels of a session: which there are, how they start, and what they inherit."""
