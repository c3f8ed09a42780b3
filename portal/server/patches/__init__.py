"""What replaces or wraps a part of Jupyter that is not meant for it: a file for each class.

Each file says why, in which version the original was read, and what shows that it has changed.
tests/patches.toml lists all of them.
"""
