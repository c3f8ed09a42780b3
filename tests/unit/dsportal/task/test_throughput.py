from collections.abc import Callable

import pytest

from dsportal.live_output import LiveOutput
from dsportal.notebook.progress_bar import draw_end, draw_pace, render_bar
from dsportal.task.plan import End
from dsportal.task.throughput import Sample, Throughput, ThroughputMeter, sample_of_bytes


def pace_of(*words: tuple[int, int, float], n_ranks: int = 2, now_s: float = 10.0) -> Throughput:
    """Return what ranks say that are heard as (rank, step, second)."""
    meter = ThroughputMeter(n_ranks)
    for rank, step, heard_at_s in words:
        meter.feed(rank, Sample(step=step, n_steps=100, images_per_s=50), heard_at_s)
    found = meter.pace(now_s)
    assert found is not None
    return found


def test_there_is_nothing_to_show_before_a_rank_has_reported():
    assert ThroughputMeter(2).pace(0) is None


def test_images_of_all_ranks_count_and_the_loss_is_that_of_the_lowest_rank():
    meter = ThroughputMeter(2)
    meter.feed(1, Sample(step=5, n_steps=20, images_per_s=600, loss=2.0), 1.0)
    meter.feed(0, Sample(step=5, n_steps=20, images_per_s=500, loss=0.25), 1.0)

    assert str(meter.pace(1.5)) == "Step 5 of 20 (25%), 1,100 images/s, loss 0.25, ranks together"


def test_ranks_that_speak_at_different_moments_are_compared_at_one():
    # Both make 10 steps a second; rank 1 was heard half a second earlier.
    together = pace_of((0, 80, 9.0), (0, 90, 10.0), (1, 75, 8.5), (1, 85, 9.5))

    assert together.behind == (0, 0)
    assert together.lag() == "ranks together"


def test_the_rank_that_is_furthest_behind_is_named():
    found = pace_of((0, 80, 9.0), (0, 90, 10.0), (1, 60, 9.0), (1, 65, 10.0))

    assert found.behind == (0, 25)
    assert found.lag() == "rank 1 is 25 steps behind"


def test_a_rank_that_has_said_nothing_for_long_is_named():
    found = pace_of((0, 90, 10.0), (1, 60, 2.0))

    assert found.lag() == "no word from rank 1 for 8 s"


def test_a_rank_that_is_done_is_not_missed():
    meter = ThroughputMeter(2)
    meter.feed(0, Sample(step=20, n_steps=20, is_done=True), 1.0)
    meter.feed(1, Sample(step=20, n_steps=20), 10.0)

    assert "no word" not in str(meter.pace(10.0))


def test_ranks_that_have_not_begun_are_named():
    found = pace_of((0, 1, 10.0), n_ranks=3)

    assert found.lag() == "nothing from ranks 1, 2 yet"
    assert found.behind == (0, None, None)


def test_a_single_rank_has_no_lag_and_an_unknown_end_no_share():
    meter = ThroughputMeter(1)
    meter.feed(0, Sample(step=7), 1.0)

    assert str(meter.pace(1.0)) == "Step 7"


def test_a_sample_arrives_as_it_was_sent():
    sample = Sample(step=3, n_steps=9, images_per_s=1.5, loss=0.5)

    assert sample_of_bytes(sample.as_bytes()) == sample


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b'{"step": null}', b"\xff"])
def test_what_is_no_sample_is_refused(value):
    with pytest.raises(ValueError, match=r".*"):
        sample_of_bytes(value)


def test_where_there_is_no_page_a_line_is_printed_now_and_then_and_at_the_end():
    shown: list[str] = []
    now_s = [0.0]
    bar = LiveOutput(shown.append, is_page=False, clock=lambda: now_s[0])
    for step in range(25):
        now_s[0] = float(step)
        draw_pace(bar, pace_of((0, step, 1.0), n_ranks=1))
    draw_end(bar, pace_of((0, 25, 1.0), n_ranks=1), End(status=1))

    assert [line.split()[1] for line in shown] == ["0", "10", "20", "25"]


@pytest.mark.parametrize(
    ("step", "n_steps", "words"),
    [
        (8, 8, "Done, 8 steps in 31 s, loss 0.5"),
        # A loop that counts from 0.
        (7, 8, "Done, 8 steps in 31 s, loss 0.5"),
        (5, 8, "Done, step 5 of 8 in 31 s, loss 0.5"),
        (5, 0, "Done, step 5 in 31 s, loss 0.5"),
    ],
)
def test_the_bar_of_a_run_that_is_done_is_full(step, n_steps, words):
    meter = ThroughputMeter(1)
    meter.feed(0, Sample(step=step, n_steps=n_steps, images_per_s=50, loss=0.5), 1.0)
    pace = meter.pace(2.0)
    end = End(status=0, progress=pace.done(31.4))
    shown: list[str] = []
    draw_end(LiveOutput(shown.append, is_page=False), pace, end)
    page = drawn_on_a_page(lambda bar: draw_end(bar, pace, end))

    assert shown == [f"{words}\n"]
    assert "<progress value=1 " in page[-1]
    assert words in page[-1]


@pytest.mark.parametrize("end", [None, End(status=1), End(status=75, is_saved=True)])
def test_the_bar_of_a_run_that_is_not_done_stays_where_it_was(end):
    page = drawn_on_a_page(lambda bar: draw_end(bar, pace_of((0, 25, 1.0), n_ranks=1), end))

    assert 'max="100" value="25"' in page[-1]


def drawn_on_a_page(draw: Callable[[LiveOutput], None]) -> list[str]:
    drawn: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.display.display", lambda page, **_: drawn.append(page["text/html"]))
        draw(LiveOutput(print, is_page=True))
    return drawn


def test_a_page_gets_one_bar_that_moves(monkeypatch):
    drawn: list[str] = []

    class Shown:
        def update(self, page, *, raw):
            drawn.append(f"again {page['text/html']}")

    def display(page, *, raw, display_id):
        assert display_id is True
        drawn.append(page["text/html"])
        return Shown()

    monkeypatch.setattr("IPython.display.display", display)
    bar = LiveOutput(print, is_page=True)
    for step in (1, 2):
        draw_pace(bar, pace_of((0, step, 1.0), n_ranks=1))

    assert '<progress max="100" value="1"' in drawn[0]
    assert drawn[1].startswith("again ")
    assert 'value="2"' in drawn[1]


def test_the_bar_lists_every_rank_of_several():
    page = render_bar(pace_of((0, 80, 9.0), (0, 90, 10.0), (1, 60, 9.0), (1, 65, 10.0)))

    assert "<li>rank 0: in front, last heard of 0 s ago</li>" in page
    assert "<li>rank 1: 25 steps behind" in page
