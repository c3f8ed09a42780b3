"""The notebook's side of the ranks: `python -m tests.lab.gpu.rank_driver PLAN` inside a session.

PLAN is JSON, {"device", "n_gpus", "worlds", "batch", "side", "width", "seconds"}. Each outcome is
a line that starts with OUTCOME and holds JSON, as those of tests/support/launch_cases.py.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from dsportal import LaunchError, p2p, run
from dsportal.gpu_links import measure_links
from tests.lab.gpu import rank_functions


def main(plan: dict[str, Any]) -> None:
    _tell("ranks", run(rank_functions.describe_rank, gpus=plan["n_gpus"], results="all"))
    sizes = {name: plan[name] for name in ("device", "batch", "side", "width", "seconds")}
    for world in plan["worlds"]:
        ranks = run(rank_functions.train, **sizes, gpus=world, results="all")
        _tell("train", {"world": world, "ranks": ranks})
    if plan["device"] == "cpu":
        ends = run(measure_links, "cpu", 1 << 16, gpus=2, results="all")
        _tell("links", [asdict(end) for end in ends])
    elif plan["n_gpus"] > 1:
        links = p2p()
        _tell("links", [asdict(end) for end in links.ends] if links else [])
    else:
        try:
            p2p()
        except LaunchError as error:
            _tell("refusal", str(error))


def _tell(case: str, value: object) -> None:
    print("OUTCOME", json.dumps({"case": case, "value": value}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
