"""Import hooks against training that looks parallel and is not.

Horovod 0.28.1 has two silent traps: its own DistributedOptimizer does not average under Keras 3,
which never calls the methods it replaces; and a build that does not understand how it was started
trains N times alone. In every rank both become errors.
"""

import functools
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from dsportal.errors import LaunchError, UnaveragedError
from dsportal.rendezvous.mlflow_folder import make_folder_at_once
from dsportal.rendezvous.mxnet_servers import serve_distributed_stores
from dsportal.rendezvous.torch_writers import remember_writers

Patch = Callable[[ModuleType], None]

_STOCK_REFUSAL = (
    "Horovod's own {name} does not average gradients under Keras 3: every rank would train alone "
    "and say nothing. Import the layer for Keras 3 in its place: "
    "'import dsportal.horovod_keras as hvd'; its names are the same."
)

_HOST_MEMORY = (
    "This Horovod is built without NCCL: gradients are averaged through host memory, which is "
    "slower than the GPUs' own links. PyTorch's DistributedDataParallel averages over NCCL. Or ask "
    "the administrators for a Horovod with NCCL."
)

_SIZE_CAUSES = {
    "Horovod": (
        "The Horovod of this environment was built without Gloo, or the function changed "
        "HOROVOD_* variables. Ask the administrators for a build with HOROVOD_WITH_GLOO=1."
    ),
    "Horovod over MPI": (
        "The MPI that Horovod was built with does not understand PMIx, or the function changed "
        "HOROVOD_* variables. Leave mpi out, which uses Gloo, or ask the administrators for a "
        "build with an MPI that knows PMIx, such as Open MPI."
    ),
}


def install_guards(
    n_ranks: int,
    rank: int = 0,
    address: str = "",
    n_nodes: int = 1,
    *,
    mpi: bool = False,
    simulated_gpus: bool = True,
) -> None:
    """Patch frameworks as they are imported, and refuse what would train without averaging.

    Rank 0 of a run on GPUs also says, once, if Horovod is built without NCCL.

    Args:
        n_ranks: Ranks of the run, which Horovod or PyTorch must find too.
        address: Host, port and secret of the run's store, for PyTorch and MXNet.
    """
    says_nccl = rank == 0 and n_ranks > 1 and not simulated_gpus
    horovod = "Horovod over MPI" if mpi else "Horovod"
    patches: dict[str, Patch] = {
        "horovod.common.basics": functools.partial(
            _check_after_init, n_ranks=n_ranks, framework=horovod, says_nccl=says_nccl
        ),
        "torch.distributed.rendezvous": functools.partial(
            _use_run_store, address=address, rank=rank, n_ranks=n_ranks
        ),
        "mxnet.kvstore.base": functools.partial(
            serve_distributed_stores, address=address, rank=rank, n_ranks=n_ranks, n_nodes=n_nodes
        ),
        "horovod.keras": _refuse_stock_optimizers,
        "mlflow.store.tracking.file_store": make_folder_at_once,
        "horovod.tensorflow.keras": _refuse_stock_optimizers,
        "torch.utils.tensorboard.writer": remember_writers,
    }
    for name, patch in patches.items():
        # The finder is not asked about what is imported already.
        if name in sys.modules:
            patch(sys.modules[name])
    # First, or the usual finder would load the modules unpatched.
    sys.meta_path.insert(0, _PatchingFinder(patches))


def refuse_stock_optimizer(name: str) -> Callable[..., Any]:
    """Return a function that replaces Horovod's `name`: takes anything, raises UnaveragedError."""

    def refuse(*args: object, **kwargs: object) -> Any:
        raise UnaveragedError(_STOCK_REFUSAL.format(name=name))

    refuse.__name__ = name
    return refuse


def is_keras_2() -> bool:
    """Return whether Keras is Keras 2, for which Horovod's own layer was made."""
    import keras

    return str(keras.__version__).startswith("2.")


def _refuse_stock_optimizers(module: ModuleType) -> None:
    if is_keras_2():
        return
    for name in ("DistributedOptimizer", "PartialDistributedOptimizer"):
        if hasattr(module, name):
            setattr(module, name, refuse_stock_optimizer(name))


def _check_after_init(module: ModuleType, n_ranks: int, framework: str, *, says_nccl: bool) -> None:
    basics = module.HorovodBasics
    stock_init = basics.init
    # A list, so that it is said once even if hvd.init() is called again.
    unsaid = [_HOST_MEMORY] if says_nccl else []

    @functools.wraps(stock_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = stock_init(self, *args, **kwargs)
        check_size(self.size(), n_ranks, framework)
        if unsaid and not self.nccl_built():
            print(unsaid.pop(), flush=True)
        return result

    basics.init = init


def _use_run_store(module: ModuleType, address: str, rank: int, n_ranks: int) -> None:
    # The store is a class of PyTorch, so it is made where PyTorch is.
    from dsportal.rendezvous.torch_store import use_run_store

    use_run_store(module, address=address, rank=rank, n_ranks=n_ranks)


def check_size(n_found: int, n_ranks: int, framework: str = "Horovod") -> None:
    """Refuse to continue if the framework does not see all ranks.

    Args:
        n_found: What `hvd.size()` says, or the world size.
        framework: A key of _SIZE_CAUSES, or another name.
    """
    if n_found == n_ranks:
        return
    cause = _SIZE_CAUSES.get(framework, "Leave rank and world_size of init_process_group out.")
    raise LaunchError(
        f"{n_ranks} ranks were started and {framework} sees {n_found}: each would train alone. "
        f"{cause}"
    )


class _PatchingFinder:
    """Lets the usual finders find a module and patches it once it has been executed."""

    def __init__(self, patches: Mapping[str, Patch]) -> None:
        self._patches = dict(patches)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module to patch, or None for all others."""
        # Taken out first: the search below comes back to this finder.
        patch = self._patches.pop(name, None)
        if patch is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            patch(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
