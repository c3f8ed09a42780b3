"""The command lines of deploy/up and deploy/down."""

import argparse
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence

from deploy.common.errors import DeployError, report_failure
from deploy.common.files import alone
from deploy.environments.builder.package_sources import package_sources
from deploy.one_machine.cluster import (
    DEFAULT_N_SIMULATED_NODES,
    DEFAULT_SIMULATED_TYPES,
    MOST_SIMULATED_NODES,
    Cluster,
    describe_cluster,
)
from deploy.one_machine.environments import Build
from deploy.one_machine.extras import BY_DEFAULT, EXTRAS, build_targets, wanted_extras
from deploy.one_machine.gateway import Gateway
from deploy.one_machine.hubs import MOST_HUBS, PUBLIC_PORT, Hub, hubs_of
from deploy.one_machine.layout import PASSWORD_FILE, RUN_DIR
from deploy.one_machine.machine import steps_up
from deploy.one_machine.node import running_cluster
from deploy.one_machine.portal import does_refuse_sessions
from deploy.one_machine.removal import steps_down, steps_purge
from deploy.one_machine.steps import run_steps, select
from deploy.one_machine.users import DEMO_USERS

GRES_TYPE = re.compile(r"[a-z][a-z0-9_]{0,31}", re.ASCII)
# Source: https://systemd.io/CONTAINER_INTERFACE
CONTAINER_VARIABLE = "container"


def up(argv: Sequence[str]) -> int:
    """Set up and start the portal.

    Returns:
        Exit status: 0 if everything runs, 1 if a step failed, 130 if interrupted.
    """
    parser = argparse.ArgumentParser(
        prog="deploy/up", description="Set up and start the whole portal on this machine."
    )
    _add_only(parser, "do only this step, such as hub; may be given several times")
    parser.add_argument(
        "--simulated-nodes",
        metavar="N",
        type=int,
        choices=range(1, MOST_SIMULATED_NODES + 1),
        default=DEFAULT_N_SIMULATED_NODES,
        help=f"nodes of a machine without GPUs, 1 to {MOST_SIMULATED_NODES}; "
        f"{DEFAULT_N_SIMULATED_NODES} by default",
    )
    parser.add_argument(
        "--simulated-types",
        metavar="TYPE[,TYPE]",
        type=parse_types,
        default=DEFAULT_SIMULATED_TYPES,
        help="types of simulated GPUs, which the nodes have in turn, such as a100,v100; "
        f"{','.join(DEFAULT_SIMULATED_TYPES)} by default",
    )
    parser.add_argument(
        "--hubs",
        metavar="N",
        type=int,
        choices=range(1, MOST_HUBS + 1),
        default=1,
        help=f"hubs that share the users, 1 to {MOST_HUBS}; 1 by default. Sessions that run when "
        "it changes have to be started again",
    )
    parser.add_argument(
        "--offline-nodes",
        action="store_true",
        help="give sessions no way to the internet; without it they have one if this machine does",
    )
    parser.add_argument(
        "--foreground",
        action="store_true",
        help="stay until SIGTERM or Ctrl-C, then do what deploy/down does; for containers",
    )
    parser.add_argument(
        "--with",
        dest="added",
        metavar="EXTRA",
        choices=list(EXTRAS),
        action="append",
        default=[],
        help="add 'apptainer' (Apptainer from Debian unstable, and a kernel in an image), 'netron' "
        "(a web tool that shows models) or 'xprof' (TensorBoard's profiler); may be given several "
        "times",
    )
    parser.add_argument(
        "--without",
        dest="left_out",
        metavar="EXTRA",
        choices=BY_DEFAULT,
        action="append",
        default=[],
        help="leave out 'modules' (environment modules of the frameworks), 'code-server' (VS Code) "
        "or 'mlflow' (MLflow's pages), which are added by default; may be given several times",
    )
    wanted = parser.parse_args(argv)
    if wanted.foreground and wanted.only:
        parser.error("--foreground runs and stops the whole portal; it cannot be limited by --only")
    # A shell starts what runs in its background with interrupts ignored. Daemons would hand that on
    # to sessions, whose kernels could then not be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if wanted.foreground:
        return stay(lambda: _run("deploy/up", lambda: _up(wanted)), lambda: down([]))
    return _run("deploy/up", lambda: _up(wanted))


def parse_types(text: str) -> tuple[str, ...]:
    """Return the types of simulated GPUs.

    Raises:
        argparse.ArgumentTypeError: One of them is no name of a type.
    """
    types = tuple(text.split(","))
    for name in types:
        if not GRES_TYPE.fullmatch(name):
            raise argparse.ArgumentTypeError(
                f"{name!r} is no type of GPU: use small letters and digits, such as a100,v100"
            )
    return types


def down(argv: Sequence[str]) -> int:
    """Stop the portal.

    Returns:
        Exit status: 0 if it is stopped, 1 if a step failed, 130 if interrupted.
    """
    parser = argparse.ArgumentParser(
        prog="deploy/down", description="Stop everything that deploy/up has started."
    )
    _add_only(parser, "stop only this part, such as hub; may be given several times")
    parser.add_argument(
        "--purge",
        action="store_true",
        help="also remove users, configuration, state, environments and name service settings",
    )
    parser.add_argument(
        "--keep-environments",
        action="store_true",
        help="with --purge: keep the environments and data sets, which take long to build",
    )
    wanted = parser.parse_args(argv)
    if wanted.only and wanted.purge:
        parser.error("--purge removes everything; it cannot be limited by --only")
    return _run("deploy/down", lambda: _down(wanted))


def stay(up: Callable[[], int], down: Callable[[], int]) -> int:
    """Set up, wait for a signal to stop, and stop.

    Args:
        up: deploy/up. It leaves SIGTERM and SIGINT raising KeyboardInterrupt.
        down: deploy/down.

    Returns:
        Exit status: 0 if everything ran and was stopped, else that of what failed.
    """
    try:
        status = up()
        if status == 0:
            # What was printed last says how to log in.
            sys.stdout.flush()
            _wait_for_signal()
    except KeyboardInterrupt:
        status = 0
    print("\nStopping ...", flush=True)
    # Also after a failure: what was started must not be left to be killed.
    return down() or status


def _wait_for_signal() -> None:
    while True:
        signal.pause()


def _up(wanted: argparse.Namespace) -> None:
    start = time.monotonic()
    package_sources(os.environ)
    extras = wanted_extras(wanted.added, wanted.left_out)
    hubs = hubs_of(wanted.hubs)
    build = Build(build_targets(extras))
    cluster = describe_cluster(wanted.simulated_nodes, wanted.simulated_types)
    gateway = Gateway(cluster.nodes, is_wanted=not wanted.offline_nodes)
    all_steps = steps_up(cluster, build, gateway, extras, hubs)
    steps = select(all_steps, wanted.only)
    names = {step.name for step in steps}
    # Without the step that waits for it, the builder would be left running.
    steps = [step for step in steps if step.name != "build" or "environments" in names]
    try:
        run_steps(steps)
    finally:
        build.abandon()
    print(f"\nDone in {time.monotonic() - start:.1f} s.")
    if not wanted.only:
        in_container = CONTAINER_VARIABLE in os.environ
        _print_welcome(cluster, hubs[0], no_internet=gateway.refusal, in_container=in_container)


def _print_welcome(cluster: Cluster, hub: Hub, *, no_internet: str, in_container: bool) -> None:
    users = " and ".join(user.name for user in DEMO_USERS)
    here, there = f"http://127.0.0.1:{PUBLIC_PORT}", f"http://{socket.gethostname()}:{PUBLIC_PORT}"
    if in_container:
        print(f"Open      {here}, or whichever address and port you have published")
    else:
        print(f"Open      {here} on this machine, {there} from others")
    print("          without TLS: only for a trial, on a network that you trust")
    print(f"Log in    as {users}; the password of both is {PASSWORD_FILE.read_text().strip()}")
    if cluster.has_simulated_gpus:
        print("GPUs      are simulated: Slurm allocates them, training runs on the CPU")
    if does_refuse_sessions(hub):
        print("Sessions  are refused: 'dsportal status' says why, 'dsportal undrain' ends that")
    if no_internet:
        print(f"Internet  is out of reach for sessions, so %pip install fails: {no_internet}")
    if in_container:
        print("Stop      by stopping the container")
    else:
        print("Stop      with deploy/down; --purge also removes everything but packages")


def _down(wanted: argparse.Namespace) -> None:
    cluster = running_cluster()
    run_steps(select(steps_down(cluster), wanted.only))
    if wanted.purge:
        run_steps(steps_purge(cluster, keeps_environments=wanted.keep_environments))


def _add_only(parser: argparse.ArgumentParser, description: str) -> None:
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help=description)


def _run(command: str, do: Callable[[], None]) -> int:
    # Ended by a signal, it tidies up as when it is interrupted.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if os.geteuid() != 0:
            raise DeployError(
                f"{command} needs root: it makes accounts, network devices and daemons.",
                next_step=f"Run it as root, for instance 'sudo {command}'.",
            )
        RUN_DIR.mkdir(mode=0o755, parents=True, exist_ok=True)
        with alone(RUN_DIR / "lock", "Waiting for another deploy/up or deploy/down to end ..."):
            do()
    except (DeployError, OSError) as error:
        return report_failure(error, command)
    except KeyboardInterrupt:
        print(f"\nInterrupted. Run {command} again to continue.", file=sys.stderr)
        return 130
    return 0
