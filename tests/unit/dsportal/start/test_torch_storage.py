"""The device that takes the place of another kernel's."""

from types import SimpleNamespace

import pytest

from dsportal.start import torch_storage


def torch(n_gpus: int) -> SimpleNamespace:
    gpus = SimpleNamespace(is_available=lambda: n_gpus > 0, device_count=lambda: n_gpus)
    return SimpleNamespace(cuda=gpus)


@pytest.mark.parametrize(
    ("saved", "n_gpus", "here"),
    [
        ("cpu", 0, "cpu"),
        ("cuda:1", 2, "cuda:1"),
        ("cuda:1", 1, "cuda:0"),
        ("cuda:0", 0, "cpu"),
        # Of a kind that this PyTorch does not know.
        ("xpu:0", 1, "cpu"),
    ],
)
def test_a_tensor_comes_to_a_gpu_that_is_there_or_to_the_memory(
    saved: str, n_gpus: int, here: str
) -> None:
    torch_storage.MOVED.clear()

    assert torch_storage.device_here(torch(n_gpus), saved) == here
    assert bool(torch_storage.MOVED) == (here == "cpu" and saved != "cpu")
