"""Extensions of JupyterHub's own classes: mixins of the spawner, and routes of the hub."""
