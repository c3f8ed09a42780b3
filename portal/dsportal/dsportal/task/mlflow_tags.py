"""What MLflow's pages say about runs that ranks start: notebook, run of the portal, and rank."""

import json
import os.path
from collections.abc import MutableMapping

VARIABLE = "MLFLOW_RUN_CONTEXT"
# Set by the kernel; MLflow reads it only there.
NOTEBOOK_VARIABLE = "IPYNB_FILE"


def name_run(environ: MutableMapping[str, str], run: str, rank: int) -> None:
    """Have MLflow tag the runs that this rank starts, beside the tags that `environ` has.

    Args:
        environ: Of the rank, before MLflow is imported.

    Source:
        mlflow 3.17, mlflow.tracking.context: system_environment_context, and
        jupyter_notebook_context, which names only the notebooks of kernels.
    """
    try:
        given = json.loads(environ.get(VARIABLE, "{}"))
    except ValueError:
        given = {}
    given = given if isinstance(given, dict) else {}
    own = {"portal.run": run, "portal.rank": str(rank)}
    if notebook := environ.get(NOTEBOOK_VARIABLE):
        own["mlflow.source.name"] = os.path.basename(notebook)
        own["mlflow.source.type"] = "NOTEBOOK"
    environ[VARIABLE] = json.dumps({**own, **given})
