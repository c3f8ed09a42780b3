import statistics

import pytest

from dsportal.advice import advise
from dsportal.scaling.step_time import Point, fit_step_time
from tests.support.seed_speedups import STUDIES, prediction_errors


def points(compute_s: float, bandwidth_s: float, latency_s: float, *counts: int) -> list[Point]:
    return [
        Point(n_gpus=n, step_s=compute_s + bandwidth_s * 2 * (n - 1) / n + latency_s * 2 * (n - 1))
        for n in counts
    ]


def test_a_training_that_follows_the_model_is_predicted_exactly():
    model = fit_step_time(points(0.1, 0.02, 0.001, 1, 2, 4, 8))
    (expected,) = points(0.1, 0.02, 0.001, 64)

    assert model.step_s(64) == pytest.approx(expected.step_s)


def test_a_training_that_does_not_communicate_scales_ideally():
    prediction = fit_step_time(points(0.1, 0, 0, 1, 2, 4)).predict(64)

    assert prediction.speedup == pytest.approx(64)
    assert prediction.highest <= 64


def test_two_points_leave_open_what_slows_down_and_the_band_says_so():
    prediction = fit_step_time(points(0.1, 0.01, 0.001, 1, 2)).predict(64)
    truth = 64 * 0.1 / points(0.1, 0.01, 0.001, 64)[0].step_s

    assert prediction.lowest < truth < prediction.highest
    assert prediction.highest > 2 * prediction.lowest


def test_more_points_narrow_the_band():
    wide = fit_step_time(points(0.1, 0.01, 0.001, 1, 2)).predict(32)
    narrow = fit_step_time(points(0.1, 0.01, 0.001, 1, 2, 4, 8)).predict(32)

    assert narrow.highest - narrow.lowest < (wide.highest - wide.lowest) / 2


def test_a_measurement_that_is_faster_than_ideal_still_gives_a_model():
    model = fit_step_time([Point(n_gpus=1, step_s=1.0), Point(n_gpus=2, step_s=0.98)])

    assert model.predict(8).speedup == pytest.approx(8)


@pytest.mark.parametrize("counts", [(1,), (4, 4)])
def test_one_number_of_gpus_is_not_enough(counts):
    with pytest.raises(ValueError, match="two different numbers of GPUs"):
        fit_step_time(points(0.1, 0, 0, *counts))


def test_published_speedups_on_16_and_32_gpus_are_predicted_from_1_and_8():
    errors = [error for _, _, error in prediction_errors()]

    assert len(errors) == 10
    assert statistics.mean(errors) < 10
    # Caffe2 in FP16 on 32 GPUs.
    assert 18 < max(errors) < 19


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_published_speedups_lie_within_the_band_or_close_to_it(study):
    model = fit_step_time([Point(n_gpus=1, step_s=1.0), Point(n_gpus=8, step_s=8 / study.on_8)])
    for n_gpus, speedup in study.on_more.items():
        prediction = model.predict(n_gpus)
        assert 0.99 * prediction.lowest <= speedup <= 1.01 * prediction.highest


def test_the_advice_is_to_run_two_jobs_where_more_gpus_stop_paying():
    # Doubling brings 2, 1.8 and then 1.2 times the speed.
    found = advise(
        [
            Point(n_gpus=1, step_s=1.0),
            Point(n_gpus=2, step_s=1.05),
            Point(n_gpus=4, step_s=1.25),
            Point(n_gpus=8, step_s=2.0),
        ],
        batch_size=64,
    )

    assert found.n_gpus in {2, 4}
    assert f"Run two jobs on {found.n_gpus} GPUs each" in found.text


def test_the_advice_names_the_price_of_an_epoch():
    found = advise(points(1.0, 0, 0, 1, 2, 4), batch_size=100, images_per_epoch=360_000)
    by_count = {each.n_gpus: found.gpu_hours(each) for each in found.predictions}

    assert by_count[1] == pytest.approx(1.0)
    assert by_count[64] == pytest.approx(1.0)
    assert "GPU hours an epoch" in repr(found)
