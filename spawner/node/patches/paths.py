"""jupyter_core.paths: nothing in a user's home takes the place of what is shipped.

By its variable, JUPYTER_PREFER_ENV_PATH, kernels would do the same.

Source:
    jupyter_core 5.9.1, `paths.prefer_environment_over_user`.

Shown by:
    tests/programs/spawner/node/test_session_server.py
"""

from jupyter_core import paths


def prefer_shipped() -> None:
    """Have Jupyter look in the server's environment first."""
    paths.prefer_environment_over_user = lambda: True
