"""The storages of the site, as the session of a user finds them."""

from pathlib import Path

from portal.server.storage.handlers import describe


async def test_a_storage_is_told_with_its_space(tmp_path: Path) -> None:
    told = await describe("scratch", tmp_path)

    assert told is not None
    assert told["name"] == "scratch"
    assert told["answers"]
    assert 0 < told["free_bytes"] <= told["total_bytes"]


async def test_a_storage_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    assert await describe("archive", tmp_path / "gone") is None
