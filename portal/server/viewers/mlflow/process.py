"""The program of one page of MLflow: serves a folder of runs on a unix socket.

It is run by its path with the Python of MLflow's environment, which may lack our package, so it is
one file and imports only the standard library and mlflow. Input and output are those of
`portal.server.viewers.tensorboard.process`.

Source:
    mlflow 3.17, what `mlflow server` does, without its further processes, which would outlive a
    notebook server that is killed. Its checks of Host and Origin know only localhost and would
    refuse the portal's own pages; in their place are the login, a socket that only the user can
    open, and an address that cannot be guessed.
"""

import json
import os
import re
import socket
import sys
from pathlib import Path
from typing import Any

_BACKLOG = 128
_VARIABLES = {
    # Without it, MLflow refuses folders.
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE": "true",
    # Neither programs that its pages start, nor files that others upload.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "_MLFLOW_SERVER_SERVE_ARTIFACTS": "false",
}
# What the pages begin with in a browser that has not seen them: the experiments, as those of model
# training. Left to itself MLflow begins with what it has for language models, and with a notice
# that it collects usage data, which it does not here. The assistant is left out, see below.
# They are dark as JupyterLab is, which says so in the same storage, unless the user has chosen
# otherwise in MLflow's settings; MLflow itself keeps the first choice for ever. On a narrow screen
# the sidebar begins folded: it takes half of it.
_FIRST_LOOK = """<style>[data-assistant-ui] { display: none !important }</style><script>
    const settings = {
      'mlflow.workflowType_v1': '"machine_learning"',
      'mlflow.settings.telemetry.enabled_v1': 'false',
      'mlflow.telemetry.info.alert.dismissed_v1': 'true',
      'mlflow.assistant.fab.autoOpenedOnFirstLoad_v1': 'true'
    };
    for (const [name, value] of Object.entries(settings)) {
      if (localStorage.getItem(name) === null) {
        localStorage.setItem(name, value);
      }
    }
    const theme = '_mlflow_dark_mode_toggle_enabled';
    const ours = 'data-scientist-portal:mlflow-dark';
    const chosen = localStorage.getItem(theme);
    if (chosen === null || chosen === localStorage.getItem(ours)) {
      const dark =
        localStorage.getItem('data-scientist-portal:dark') ??
        String(matchMedia('(prefers-color-scheme: dark)').matches);
      localStorage.setItem(theme, dark);
      localStorage.setItem(ours, dark);
    }
    if (location.hash === '') {
      location.replace('#/experiments');
    }
    if (innerWidth < 600) {
      new MutationObserver((_, observer) => {
        const fold = document.querySelector('aside button[aria-label="Toggle sidebar"]');
        if (fold !== null) {
          observer.disconnect();
          fold.click();
        }
      }).observe(document, { childList: true, subtree: true });
    }
  </script>"""
# Programs on the node, and models elsewhere, that a page would start or ask.
_LEFT_OUT = re.compile(r"/gateway/|/ajax-api/[^/]+/mlflow/assistant/")
# Asked once by each page; MLflow without a login of its own answers that there is no such page.
_WHO = "/ajax-api/2.0/mlflow/users/current"


def main() -> int:
    """Serve one folder until the notebook server kills this process.

    Returns:
        1 if the notebook server ended without a request.
    """
    line = sys.stdin.readline()
    if not line:
        return 1
    request = json.loads(line)
    serve(Path(request["logdir"]), request["socket"])
    return 0


def serve(folder: Path, socket_path: str) -> None:
    """Serve a folder; print the note of `process` once the socket answers."""
    os.environ.update(_VARIABLES)
    # Only now: MLflow reads its variables when it is imported.
    import uvicorn
    from mlflow.server import handlers
    from mlflow.server.constants import (
        ARTIFACT_ROOT_ENV_VAR,
        BACKEND_STORE_URI_ENV_VAR,
        REGISTRY_STORE_URI_ENV_VAR,
    )

    uri = folder.as_uri()
    stores = (BACKEND_STORE_URI_ENV_VAR, REGISTRY_STORE_URI_ENV_VAR, ARTIFACT_ROOT_ENV_VAR)
    os.environ.update(dict.fromkeys(stores, uri))
    # Fails here, with its reason in the log, rather than with the first page.
    handlers.initialize_backend_stores(uri, uri, uri)
    from mlflow.server import app as pages
    from mlflow.server.fastapi_app import app

    _begin_with_experiments(pages)
    pages.add_url_rule(_WHO, "nobody", dict)

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            print(json.dumps({"note": ""}), flush=True)

    # Nobody forwards for somebody else: headers that say so are not believed.
    config = uvicorn.Config(_leave_out(app), log_level="warning", proxy_headers=False)
    Server(config).run(sockets=[_listen(socket_path)])


def _begin_with_experiments(pages: Any) -> None:
    index = Path(pages.static_folder, "index.html").read_text(encoding="utf-8")
    page = index.replace("<head>", f"<head>{_FIRST_LOOK}", 1)
    pages.view_functions["serve"] = lambda: pages.response_class(page, mimetype="text/html")


def _leave_out(app: Any) -> Any:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if _LEFT_OUT.match(scope.get("path", "")):
            # MLflow answers that there is no such page.
            scope = {**scope, "path": "/left-out", "raw_path": b"/left-out"}
        await app(scope, receive, send)

    return answer


def _listen(socket_path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # bind() makes the socket with mode 0600; a chmod afterwards would leave a gap.
    old_mask = os.umask(0o177)
    try:
        listener.bind(socket_path)
    finally:
        os.umask(old_mask)
    listener.listen(_BACKLOG)
    return listener


if __name__ == "__main__":
    sys.exit(main())
