import pytest

from dsportal import p2p
from dsportal.errors import LaunchError
from dsportal.gpu_links import End, Link, Links


def test_the_tables_say_from_which_gpu_to_which():
    there = Link(gb_per_s=47.25, latency_us=8.5)
    back = Link(gb_per_s=12.0, latency_us=9.0)
    ends = [
        End(node="gpu01", gpu="V100", links={1: back}),
        End(node="gpu02", gpu="V100", links={0: there}),
    ]

    assert repr(Links(ends)).splitlines() == [
        "GPU",
        "   0  gpu01  V100",
        "   1  gpu02  V100",
        "",
        "GB/s, from     to 0     to 1",
        "         0        -     47.2",
        "         1     12.0        -",
        "",
        "us, from       to 0     to 1",
        "         0        -      8.5",
        "         1      9.0        -",
    ]


def test_figures_of_simulated_gpus_say_first_that_they_are_none_of_gpus():
    link = Link(gb_per_s=1.0, latency_us=40.0)
    ends = [End(node="node01", gpu="CPU", links={1 - rank: link}) for rank in range(2)]

    first, second, _, title, *_ = repr(Links(ends, simulated_gpus=True)).splitlines()

    assert "simulated" in first
    assert "say nothing about GPUs" in second
    assert title == "Simulated GPU"


def test_one_gpu_alone_is_refused_with_what_to_ask_for(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    monkeypatch.setenv("PORTAL_N_GPUS", "1")
    monkeypatch.delenv("PORTAL_GPUS_SIMULATED", raising=False)

    with pytest.raises(LaunchError, match=r"p2p\(gpus=2\)"):
        p2p()
