"""Where JupyterHub's own classes are extended: mixins of the spawner, and routes of the hub."""
