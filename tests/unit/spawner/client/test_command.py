"""The environment of Slurm's commands; tests/programs runs some."""

from __future__ import annotations

import os

import pytest

from spawner.client.command import keep_time_zone


@pytest.mark.parametrize(
    ("before", "zone"),
    [({}, f":{os.path.realpath('/etc/localtime')}"), ({"TZ": "Asia/Tokyo"}, "Asia/Tokyo")],
)
def test_times_stay_in_the_zone_of_the_start(
    monkeypatch: pytest.MonkeyPatch, before: dict[str, str], zone: str
) -> None:
    monkeypatch.setattr(os, "environ", before)

    keep_time_zone()

    assert os.environ == {"TZ": zone}
