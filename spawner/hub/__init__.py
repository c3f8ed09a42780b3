"""Extensions of JupyterHub's own classes: mixins of the spawner, and routes of the hub.

`patches` has all that replaces or wraps a part of JupyterHub, a file for each class.
"""
