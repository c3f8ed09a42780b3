"""What programs are told of their addresses."""

from portal.server.ports.plugin import dask_link


def test_dask_links_to_its_dashboard_through_the_session() -> None:
    link = dask_link("/user/ada/").format(port=8787, host="10.0.0.1", scheme="http")

    assert link == "/user/ada/port/8787/status"
