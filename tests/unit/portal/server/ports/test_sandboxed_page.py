"""Where the script of a sandboxed page goes."""

from collections.abc import AsyncIterator

import pytest

from portal.server.ports.sandboxed_page import with_storage


async def given(*chunks: bytes) -> bytes:
    async def come() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return b"".join([chunk async for chunk in with_storage(come())])


@pytest.mark.parametrize("head", [b"<head>", b'<HEAD lang="de">', b"<head\n>"])
@pytest.mark.parametrize("cut", [1, 16, 18, 40])
async def test_it_comes_first_in_the_head_however_the_page_is_cut(head: bytes, cut: int) -> None:
    page = b"<!doctype html>" + head + b"<script>document.cookie</script></head>" + b"x" * 100

    got = await given(page[:cut], page[cut:])

    before, _, after = got.partition(b"<script>// Cookies")
    assert before == b"<!doctype html>" + head
    assert after.endswith(b"</script>" + page.partition(head)[2])


@pytest.mark.parametrize("page", [b"", b"<p>text</p>", b"<header>", b"x" * 200_000 + b"<head>"])
async def test_a_page_without_a_head_is_left_as_it_is(page: bytes) -> None:
    assert await given(page[:70_000], page[70_000:]) == page
