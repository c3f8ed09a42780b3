"""Tensors of PyTorch in a pickle: those of a GPU go by the host, to the GPU of the next kernel.

PyTorch itself pickles each tensor's memory by itself, so that two views of one memory come apart,
and what was on a GPU cannot be read where there is none.

Source:
    PyTorch 2.13, `Tensor.__reduce_ex__`, whose arguments have a `TypedStorage`.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import pickle
from typing import Any

# Devices that are missing here: what was there is in the memory of the node now.
MOVED: Any = set()


def reduce(storage, copies):
    """Return how PyTorch's `storage` is made again; `copies` takes what is to be released then."""
    import torch

    if isinstance(storage, torch.storage.TypedStorage):
        return typed, (storage._untyped_storage, storage.dtype)
    data = torch.empty(0, dtype=torch.uint8).set_(storage.cpu()).numpy()
    copies.append(pickle.PickleBuffer(data))
    return untyped, (copies[-1], str(storage.device))


def reduce_loader(loader):
    """Return how a `loader` is made again: its workers start with the next epoch."""
    return object.__new__, (type(loader),), {**vars(loader), "_iterator": None}


def typed(storage, dtype):
    """Return a `storage` whose numbers have the type `dtype`."""
    import torch

    return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def untyped(data, device):
    """Return a storage with `data` on the device that stands for `device` here."""
    import torch

    place = device_here(torch, device)
    if not data:
        return torch.UntypedStorage(0, device=place)
    return torch.frombuffer(data, dtype=torch.uint8).to(place).untyped_storage()


def device_here(torch, device):
    """Return the device of `torch` that takes the place of another kernel's, such as "cuda:1"."""
    kind, _, number = device.partition(":")
    if kind == "cpu":
        return device
    devices = getattr(torch, kind, None)
    n_devices = devices.device_count() if devices is not None and devices.is_available() else 0
    if not n_devices:
        MOVED.add(device)
        return "cpu"
    return device if int(number or 0) < n_devices else kind + ":0"
