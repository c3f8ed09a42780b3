"""The command line of deploy/environments/build."""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from deploy.common.errors import DeployError
from deploy.common.files import alone
from deploy.environments.builder import cuda
from deploy.environments.builder.choices import (
    keep_choices,
    kept_cuda,
    kept_flavour,
    kept_python,
    refuse_python,
)
from deploy.environments.builder.package_sources import package_sources
from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.schedule import Outcome, build_targets
from deploy.environments.builder.target import Target
from deploy.environments.builder.targets import ALL, ONLY_FOR_GPUS, OPTIONAL, TARGETS, with_needs


def parse_arguments(
    argv: Sequence[str], targets: Sequence[Target] = TARGETS
) -> tuple[list[str], Plan]:
    """Read the command line."""
    summaries = "\n".join(f"  {target.name:<17}{target.summary}" for target in targets)
    parser = argparse.ArgumentParser(
        prog="deploy/environments/build",
        description="Build the environments and files of the portal; keep what is current.",
        epilog=f"targets:\n  {'all':<17}all but {', '.join(OPTIONAL)}; in the "
        f"flavour gpu {', '.join(ONLY_FOR_GPUS)}, too\n{summaries}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    plan = Plan()
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="see below")
    add = parser.add_argument
    add("--prefix", type=Path, default=plan.prefix, help="default: %(default)s")
    add("--datasets", type=Path, default=plan.datasets_dir, help="default: %(default)s")
    add("--logs", type=Path, default=plan.log_dir, help="default: %(default)s")
    add(
        "--flavour",
        choices=[flavour.value for flavour in Flavour],
        help="TensorFlow and PyTorch with the CUDA libraries or without; later builds keep it "
        "(default: gpu if nvidia-smi lists one)",
    )
    add(
        "--python",
        type=Path,
        metavar="PATH",
        help="interpreter of the environments; later builds keep it (default: /usr/bin/python3)",
    )
    add("--with-mpi", action="store_true", help="compile Horovod with MPI as well as Gloo")
    add(
        "--cuda",
        metavar="DIR",
        help="CUDA toolkit that Horovod is compiled with in the flavour gpu, such as "
        f"/usr/local/cuda, or '{cuda.FROM_INDEX}'; later builds keep it (default: "
        f"{cuda.FROM_INDEX}, NVIDIA's compiler from the Python package index)",
    )
    given = parser.parse_args(argv)
    known = ["all", *(target.name for target in targets)]
    if unknown := [name for name in given.targets if name not in known]:
        parser.error(f"no target '{unknown[0]}'. There are: {', '.join(known)}.")
    flavour = Flavour(given.flavour) if given.flavour else kept_flavour(given.prefix)
    everything = (*ALL, *(ONLY_FOR_GPUS if flavour is Flavour.GPU else ()))
    chosen = [n for name in given.targets for n in (everything if name == "all" else [name])]
    return chosen, Plan(
        prefix=given.prefix.absolute(),
        datasets_dir=given.datasets.absolute(),
        log_dir=given.logs.absolute(),
        python=given.python or kept_python(given.prefix),
        flavour=flavour,
        with_mpi=given.with_mpi,
        cuda_home=_cuda_home(given.cuda, given.prefix),
    )


def _cuda_home(given: str | None, prefix: Path) -> Path | None:
    if given is None:
        return kept_cuda(prefix)
    return None if given == cuda.FROM_INDEX else cuda.check_home(Path(given).absolute())


def one_build_at_a_time(prefix: Path) -> contextlib.AbstractContextManager[None]:
    """Wait until no other build works on the same prefix, which is created if it is missing."""
    prefix.mkdir(parents=True, exist_ok=True)
    return alone(prefix / ".build.lock", f"waiting for another build in {prefix} to end")


def main(argv: Sequence[str] | None = None, targets: Sequence[Target] = TARGETS) -> int:
    """Build those `targets` that the command line names, and everything they need.

    Returns:
        0 if all of them are built, 1 if one is not, 2 for a wrong command line.
    """
    try:
        # Only for its errors: a wrong setting should end the program here, not a target minutes
        # later.
        package_sources(os.environ)
        names, plan = parse_arguments(sys.argv[1:] if argv is None else argv, targets)
        refuse_python(plan.python)
    except DeployError as error:
        print(f"{error.message} {error.next_step}", file=sys.stderr)
        return 2
    # Every account has to read and run what root builds here.
    os.umask(0o022)
    before = time.monotonic()
    try:
        with one_build_at_a_time(plan.prefix):
            # Before the targets: a build that fails continues with the same choices.
            keep_choices(plan)
            ended = build_targets(with_needs(names, targets), plan)
    except PermissionError as error:
        print(f"{error.filename} cannot be written. Run this as root.", file=sys.stderr)
        return 1
    lost = [e.name for e in ended if e.outcome in {Outcome.FAILED, Outcome.NOT_TRIED}]
    took_s = time.monotonic() - before
    if lost:
        print(
            f"{len(lost)} of {len(ended)} targets are not built: {', '.join(lost)}. {took_s:.1f} s"
        )
        return 1
    print(f"{len(ended)} targets are ready, {took_s:.1f} s")
    return 0
