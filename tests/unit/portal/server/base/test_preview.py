"""Which files have a preview."""

import sys
from pathlib import Path

import pytest

from portal.server.base.preview import PreviewError, preview


@pytest.mark.parametrize("suffix", [".pt", ".PTH", ".safetensors", ".keras", ".onnx"])
def test_a_model_is_not_read_and_says_what_opens_it(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(PreviewError, match=r"is a model.* open it in Netron"):
        preview(tmp_path / f"a{suffix}")


def test_other_files_and_folders_have_no_preview(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").mkdir()

    with pytest.raises(PreviewError, match=r"is not there, or is no file"):
        preview(tmp_path / "a.parquet")
    with pytest.raises(PreviewError, match=r"\.parquet has one"):
        preview(tmp_path / "a.txt")


def test_parquet_without_a_kernel_that_reads_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "a.parquet").write_bytes(b"PAR1")

    with pytest.raises(PreviewError, match="no kernel of this site has pyarrow"):
        preview(tmp_path / "a.parquet")
