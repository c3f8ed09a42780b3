"""What a session's server replaces of JupyterHub's, JupyterLab's and Jupyter's own code.

Each file says why, in which version the original was read, and what shows that it has changed.
tests/patches.toml lists all of them.
"""
