"""The table [s3]."""

from __future__ import annotations

import pytest

from portal.hub.settings.s3 import check_buckets, check_endpoint, check_region


@pytest.mark.parametrize("url", ["", "https://s3.example.org", "http://10.0.0.1:9000/"])
def test_an_endpoint_is_an_address_without_a_path(url: str) -> None:
    check_endpoint(url)


@pytest.mark.parametrize(
    "url", ["s3.example.org", "ftp://a", "https://a/b", "https://u:p@a", "https://a?b=c"]
)
def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"https://s3.example.org"):
        check_endpoint(url)


def test_names_of_buckets_and_regions_are_checked() -> None:
    check_buckets(("lab", "my.models-1"))
    check_region("eu-central-1")
    with pytest.raises(ValueError, match="not a name of a bucket"):
        check_buckets(("arn:aws:s3:::lab",))
    with pytest.raises(ValueError, match="letters, digits"):
        check_region("eu/central")
