"""The kernels of a session: discovery, start, and what they inherit."""
