"""Reports of the use of GPUs to the hub, which may be away."""

import asyncio
from collections.abc import Mapping

from portal.server.base.hub_api import HubError
from portal.server.base.use_report import UseReport


class Hub:
    """Takes reports, unless it is away."""

    def __init__(self) -> None:
        self.told: list[Mapping[int, float]] = []
        self.is_away = False
        self.report = UseReport(self.take)

    async def take(self, percents: Mapping[int, float]) -> None:
        if self.is_away:
            raise HubError("The hub is not responding.", http_status=503)
        self.told.append(percents)


async def test_each_job_is_reported_once_with_its_newest_average() -> None:
    hub = Hub()
    hub.report.note(7, 40.0)
    hub.report.note(7, 41.26)
    hub.report.note(8, 0.0)

    await hub.report.send()
    await hub.report.send()

    assert hub.told == [{7: 41.3, 8: 0.0}]


async def test_what_nothing_measured_is_not_reported() -> None:
    hub = Hub()
    hub.report.note(7, None)
    hub.report.note(0, 50.0)

    await hub.report.send()

    assert hub.told == []


async def test_a_hub_that_was_away_hears_all_the_next_time_and_the_newest_of_each() -> None:
    hub = Hub()
    hub.report.note(7, 40.0)
    hub.report.note(8, 10.0)
    hub.is_away = True
    await hub.report.send()
    hub.report.note(7, 50.0)
    hub.is_away = False

    await hub.report.stop()

    assert hub.told == [{7: 50.0, 8: 10.0}]


async def test_the_end_of_a_session_does_not_wait_for_a_hub_that_hangs() -> None:
    async def hang(_: Mapping[int, float]) -> None:
        await asyncio.Event().wait()

    report = UseReport(hang)
    report.note(7, 40.0)
    report.start()

    await asyncio.wait_for(report.stop(), timeout=10)
