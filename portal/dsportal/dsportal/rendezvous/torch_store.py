"""A store for PyTorch on top of the run's store.

PyTorch's own TCP store answers everybody who reaches its port. In a rank,
`torch.distributed.init_process_group()` uses this one instead: nothing to change in a function or
script that torchrun would start.

Source:
    PyTorch 2.13, torch/distributed/rendezvous.py: handlers of init methods; c10d::Store may be
    written in Python.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlparse

import torch.distributed as dist

from dsportal.errors import LaunchError
from dsportal.rendezvous.client import StoreClient
from dsportal.rendezvous.import_hooks import check_size

# PyTorch holds only the C++ half of a store and calls into the Python half, so keep that alive.
_stores: list[dist.Store] = []


class RunStore(dist.Store):
    """A PyTorch store that keeps its values in the run's store."""

    def __init__(self, address: str, timeout: timedelta) -> None:
        super().__init__()
        self._client = StoreClient(address, "torch")
        self._timeout = timeout

    @property
    def timeout(self) -> timedelta:
        """How long to wait for a value from another rank."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Change how long to wait for a value from another rank."""
        self._timeout = timeout

    def set(self, key: str, value: bytes | str) -> None:
        """Store a value."""
        self._client.put(key, value.encode() if isinstance(value, str) else bytes(value))

    def get(self, key: str) -> bytes:
        """Return a value as soon as a rank has put it."""
        return self._value(key, self._timeout)

    def add(self, key: str, amount: int) -> int:
        """Return the sum after adding `amount` to a number, which is 0 at first."""
        return self._client.add(key, amount)

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all keys have a value."""
        return all(self._client.get(key) is not None for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys have a value; None waits for the store's own timeout."""
        for key in keys:
            self._value(key, timeout or self._timeout)

    def delete_key(self, key: str) -> bool:
        """Return False and delete nothing: values end with the run."""
        return False

    def _value(self, key: str, timeout: timedelta) -> bytes:
        try:
            return self._client.wait(key, timeout.total_seconds())
        except TimeoutError as error:
            raise dist.DistStoreError(f"{error} Look into the logs of the other ranks.") from error


def use_run_store(rendezvous: ModuleType, *, address: str, rank: int, n_ranks: int) -> None:
    """Let `init_process_group` with its default init method use the run's store.

    `rendezvous` is torch.distributed.rendezvous, `address` host, port and secret of the store.
    """

    def handler(
        url: str, timeout: timedelta = timedelta(minutes=30), **kwargs: Any
    ) -> Iterator[tuple[dist.Store, int, int]]:
        asked = {name: int(texts[0]) for name, texts in parse_qs(urlparse(url).query).items()}
        check_size(asked.get("world_size", n_ranks), n_ranks, framework="PyTorch")
        if asked.get("rank", rank) != rank:
            raise LaunchError(
                f"This is rank {rank} of the run and init_process_group got rank="
                f"{asked['rank']}. Leave rank and world_size out."
            )
        store = RunStore(address, timeout)
        _stores.append(store)
        yield store, rank, n_ranks

    # register_rendezvous_handler refuses a name that is taken, as "env" is.
    rendezvous._rendezvous_handlers["env"] = handler
