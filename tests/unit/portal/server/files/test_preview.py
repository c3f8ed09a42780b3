"""What is shown of models, from files as frameworks write them; and of files that are none."""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from portal.server.errors import PreviewError
from portal.server.files.preview import N_MOST_ROWS, preview


class Tensor:
    """Is pickled as PyTorch does it."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


@pytest.fixture
def dumps(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what pickles tensors; PyTorch itself is not in this environment."""
    torch, utils = ModuleType("torch"), ModuleType("torch._utils")
    storage = type("FloatStorage", (), {"__module__": "torch"})
    torch.FloatStorage = storage  # type: ignore[attr-defined]

    def _rebuild_tensor_v2() -> None:
        """Stand for PyTorch's."""

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = (
        "torch._utils",
        "_rebuild_tensor_v2",
    )
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    inert = object()

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            return ("storage", storage, "0", "cpu", 12) if value is inert else None

        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, Tensor):
                rest = (value.shape, (1,), False, OrderedDict())
                return _rebuild_tensor_v2, (inert, 0, *rest)
            return NotImplemented

    def dumps(value: Any) -> bytes:
        file = io.BytesIO()
        Pickler(file, 2).dump(value)
        return file.getvalue()

    return dumps


def write_zip(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/").replace("_json", ".json"), data)
    return path


def checkpoint(path: Path, data: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("name/data.pkl", data)
    return path


def test_a_checkpoint_shows_its_tensors(tmp_path: Path, dumps: Any) -> None:
    state = OrderedDict([("0.weight", Tensor(3, 4)), ("0.bias", Tensor(3))])
    path = checkpoint(tmp_path / "a.pt", dumps({"model": state, "step": 7, "all": [Tensor()]}))

    shown = preview(path)

    assert shown.facts == ["3 tensors, 16 values in all."]
    assert shown.tables[0].rows == [
        ["model.0.weight", "float", "[3, 4]"],
        ["model.0.bias", "float", "[3]"],
        ["all[0]", "float", "[]"],
    ]


def test_a_checkpoint_with_code_is_shown_and_runs_nothing(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'made'}",)

    path = checkpoint(tmp_path / "evil.pth", pickle.dumps({"model": Evil()}, 2))

    assert preview(path).facts == ["0 tensors, 0 values in all."]
    assert not (tmp_path / "made").exists()


def test_a_checkpoint_that_holds_itself_again_and_again_has_an_end(tmp_path: Path) -> None:
    value: list[Any] = []
    for _ in range(200):
        value = [value, value]
    value.append(value)

    shown = preview(checkpoint(tmp_path / "a.pt", pickle.dumps(value, 2)))

    assert shown.facts == ["0 tensors, 0 values in all."]


def test_safetensors_are_read_from_their_header(tmp_path: Path) -> None:
    tensors = {f"w{n}": {"dtype": "BF16", "shape": [2, 5]} for n in range(N_MOST_ROWS + 1)}
    header = json.dumps({"__metadata__": {"format": "pt"}, **tensors}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)

    shown = preview(path)

    assert shown.facts == [
        "1,001 tensors, 10,010 values in all.",
        "The first 1,000 are shown.",
    ]
    assert shown.tables[0].rows[0] == ["w0", "bf16", "[2, 5]"]


def test_a_keras_model_shows_its_layers(tmp_path: Path) -> None:
    layer = {"class_name": "Dense", "config": {"name": "dense"}}
    built = {**layer, "build_config": {"input_shape": [None, 784]}}
    config = {"class_name": "Sequential", "config": {"layers": [built]}}
    path = write_zip(
        tmp_path / "a.keras",
        config_json=json.dumps(config).encode(),
        metadata_json=b'{"keras_version": "3.15.1"}',
    )

    shown = preview(path)

    assert shown.facts == ("Sequential with 1 layers, saved by Keras 3.15.1.",)
    assert shown.tables[0].rows == [["dense", "Dense", "[None, 784]"]]


@pytest.mark.parametrize("suffix", [".pt", ".safetensors", ".keras", ".onnx"])
@pytest.mark.parametrize("data", [b"", b"hello", b"\x80\x02.", bytes(10_000), b"\xff" * 100])
def test_a_file_that_is_not_what_its_name_says_is_told_so(
    tmp_path: Path, suffix: str, data: bytes
) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data)

    with pytest.raises(PreviewError, match=r"a[.]\w+ is damaged, or not what its name says: "):
        preview(path)


@pytest.mark.parametrize("value", ['{"a": {"dtype": "F32", "shape": [-1]}}', "[]", '{"a": 3}'])
def test_an_impossible_header_is_told(tmp_path: Path, value: str) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(value).to_bytes(8, "little") + value.encode())

    with pytest.raises(PreviewError, match="is damaged"):
        preview(path)


def test_other_files_and_folders_have_no_preview(tmp_path: Path) -> None:
    (tmp_path / "a.pt").mkdir()

    with pytest.raises(PreviewError, match=r"is not there, or is no file"):
        preview(tmp_path / "a.pt")
    with pytest.raises(PreviewError, match=r"have one"):
        preview(tmp_path / "a.txt")


def test_parquet_without_a_kernel_that_reads_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "a.parquet").write_bytes(b"PAR1")

    with pytest.raises(PreviewError, match="no kernel of this site has pyarrow"):
        preview(tmp_path / "a.parquet")
