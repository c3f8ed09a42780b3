"""The campaign runs in a machine of its own: outside, this only makes it and looks on."""

import os
import random
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.lab.faults.bring_up import user_name
from tests.lab.faults.results import Record, add, read, write_report
from tests.lab.faults.stage import Stage
from tests.lab.foreign.machine import CHECKOUT, Machine
from tests.lab.foreign.seed import add_layer, make_room
from tests.suites import BIN_DIR, OUTPUT_DIR
from tests.support.checkout import PYTHONPATH

# Inside the machine, the file of results.
RESULTS_VARIABLE = "DSPORTAL_FAULTS"
BRING_UP = CHECKOUT / "tests/lab/faults/bring_up.py"
BRING_UP_TIMEOUT_S = 600
N_WHOLE, N_QUICK = 8, 2
GPUS_PER_NODE = 4


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --quick, --each, --minutes, --record and --seed."""
    parser.addoption(
        "--quick",
        action="store_true",
        help=f"{N_QUICK} users hold, start and wait, not {N_WHOLE}",
    )
    parser.addoption(
        "--each",
        type=int,
        metavar="N",
        help=f"N users hold, start and wait, not {N_WHOLE}, for a machine that is slow or busy",
    )
    parser.addoption(
        "--minutes", type=float, metavar="N", help="N minutes of random starts and stops, not 20"
    )
    parser.addoption("--record", action="store_true", help="write docs/benchmarks/faults.json")
    parser.addoption("--seed", type=int, default=None, help="of the random moments")


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Run all this again inside a machine of its own."""
    if RESULTS_VARIABLE in os.environ or config.getoption("collectonly"):
        return None
    OUTPUT_DIR.mkdir(exist_ok=True)
    results = OUTPUT_DIR / f"faults-{os.getpid()}.jsonl"
    results.unlink(missing_ok=True)
    machine = Machine()
    try:
        bring_up(machine, n_of_each(config))
        seed = config.getoption("--seed")
        seed = random.randrange(10**6) if seed is None else seed
        print(f"seed {seed}", flush=True)
        argv = [
            *map(str, config.invocation_params.args),
            f"--seed={seed}",
            "-p",
            "no:cacheprovider",
        ]
        status = subprocess.run(in_machine(machine, results, *argv), check=False).returncode
    finally:
        machine.close()
    if config.getoption("--record"):
        write_report(read(results), seed)
    return status


def bring_up(machine: Machine, n_users_each: int) -> None:
    """Start the portal in the machine, with what this one has built."""
    before_s = time.monotonic()
    make_room(machine)
    for below, path in (("portal", "/opt/data-scientist-portal"), ("storage", "/srv/isilon")):
        add_layer(machine, f"/built/{below}", path)
    # Holders and starters share the first nodes; the last ones are for those who wait.
    n_running, n_waiting = n_nodes_for(2 * n_users_each), n_nodes_for(n_users_each)
    # A training runs on two nodes.
    n_running = max(n_running, 2)
    numbers = map(str, (n_running, n_waiting, 3 * n_users_each))
    words = ("/usr/bin/python3", "-B", str(BRING_UP), *numbers)
    machine.run(*words, timeout_s=BRING_UP_TIMEOUT_S)
    took_s = time.monotonic() - before_s
    print(f"a cluster of {n_running + n_waiting} nodes: {took_s:.0f} s", flush=True)


def n_nodes_for(n_sessions: int) -> int:
    """Return how many nodes sessions of one GPU each need."""
    return -(-n_sessions // GPUS_PER_NODE)


def in_machine(machine: Machine, results: Path, *argv: str) -> list[str]:
    """Return what runs pytest in the machine."""
    variables = (f"{RESULTS_VARIABLE}={results}", f"PYTHONPATH={PYTHONPATH}")
    python = ("env", *variables, "PYTHONDONTWRITEBYTECODE=1", str(BIN_DIR / "python"))
    return machine.words(*python, "-m", "pytest", *argv)


def n_of_each(config: pytest.Config) -> int:
    """Return how many users hold, start and wait each."""
    n_each: int | None = config.getoption("--each")
    if n_each is not None:
        return n_each
    return N_QUICK if config.getoption("--quick") else N_WHOLE


@pytest.fixture(scope="session")
def stage(pytestconfig: pytest.Config) -> Stage:
    n_each = n_of_each(pytestconfig)
    names = [user_name(number) for number in range(3 * n_each)]
    return Stage(n_each, names, pytestconfig.getoption("--seed"))


@pytest.fixture
def record(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Record:
    """What the test fills in."""
    name = request.node.callspec.id
    print(f"\n{name} ...", flush=True)
    return Record(fault=name, n_each=n_of_each(pytestconfig))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write down what came of a fault, unless it was interrupted."""
    report = yield
    record = item.funcargs.get("record")
    if call.when == "call" and record is not None:
        record.load = os.getloadavg()[0]
        print(record.sentence(), flush=True)
        add(Path(os.environ[RESULTS_VARIABLE]), record)
    return report
