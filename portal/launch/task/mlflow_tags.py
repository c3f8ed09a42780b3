"""What MLflow's pages say about runs that ranks start: the run of the portal, and the rank."""

from __future__ import annotations

import json
from collections.abc import MutableMapping

VARIABLE = "MLFLOW_RUN_CONTEXT"


def name_run(environ: MutableMapping[str, str], run: str, rank: int) -> None:
    """Have MLflow tag the runs that this rank starts, beside the tags that `environ` has.

    Args:
        environ: Of the rank, before MLflow is imported.
        run: Name of the portal's run.
        rank: Number of the rank.

    Source:
        mlflow 3.17, mlflow.tracking.context.system_environment_context.
    """
    try:
        given = json.loads(environ.get(VARIABLE, "{}"))
    except ValueError:
        given = {}
    given = given if isinstance(given, dict) else {}
    own = {"portal.run": run, "portal.rank": str(rank)}
    environ[VARIABLE] = json.dumps({**own, **given})
