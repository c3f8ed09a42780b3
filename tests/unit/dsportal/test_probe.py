import pytest

from dsportal.errors import LaunchError
from dsportal.probe import counts, measure_points, probe
from dsportal.scaling.step_time import fit_step_time
from dsportal.scaling.study_config import fit_point, make_configs
from dsportal.scaling.study_models import measure_for

START_S = 5.0


class Machine:
    """A clock, and ranks that take 5 s to start and the given time for each step."""

    def __init__(self, step_s: float) -> None:
        self.now_s = 0.0
        self._step_s = step_s

    def clock(self) -> float:
        return self.now_s

    def measure(self, config, budget_s):
        n_steps = max(3, int(budget_s / self._step_s))
        self.now_s += START_S + n_steps * self._step_s
        # One step takes a little longer, the next a little less.
        times = [self._step_s * (1 + 0.05 * (-1) ** number) for number in range(n_steps)]
        return [times] * config.shape.n_ranks


def probed(step_s: float, n_gpus: int = 8, seconds: float = 60.0):
    machine = Machine(step_s)
    shapes = [f"1x{count}" for count in counts(n_gpus)]
    configs = make_configs(shapes, (32,), ("fp32",), (0,), "weak")
    found = measure_points(configs, seconds, machine.measure, machine.clock)
    return [each.config.shape.n_ranks for each in found], machine.now_s, found


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    monkeypatch.setenv("PORTAL_N_GPUS", "2")


def test_one_gpu_and_the_most_are_measured_first():
    assert counts(2) == [1, 2]
    assert counts(3) == [1, 3, 2]
    assert counts(8)[:2] == [1, 8]
    assert sorted(counts(8)) == [1, 2, 4, 8]


def test_a_quick_training_is_measured_on_every_number_of_gpus_within_a_minute():
    numbers, took_s, _ = probed(0.1)

    assert sorted(numbers) == [1, 2, 4, 8]
    assert 50 < took_s <= 60


def test_where_time_is_short_the_two_that_the_fit_needs_are_measured(capsys):
    numbers, _, _ = probed(0.1, seconds=15)

    assert numbers == [1, 8]
    assert "No time is left to measure 1x" in capsys.readouterr().out


def test_a_slow_training_is_still_measured_on_two_numbers_of_gpus():
    numbers, took_s, found = probed(10.0)

    assert numbers == [1, 8]
    assert [each.n_steps for each in found] == [3, 3]
    assert took_s > 60


def test_steps_that_vary_make_the_band_wider():
    _, _, found = probed(0.5, n_gpus=2)
    points = [fit_point(each) for each in found]
    model = fit_step_time(points)

    assert min(point.error for point in points) > 0
    assert model.predict(2).lowest < model.predict(2).speedup


@pytest.mark.parametrize("gpus", [1, 3, "2", True])
def test_gpus_that_the_session_cannot_probe_are_refused_with_those_it_can(session, gpus):
    with pytest.raises(LaunchError, match="this session can probe 2 to 2"):
        probe("resnet50", gpus=gpus)


@pytest.mark.parametrize("seconds", [0, -1, "60"])
def test_no_time_is_refused(session, seconds):
    with pytest.raises(LaunchError, match="Give a number above 0"):
        probe("resnet50", seconds=seconds)


def test_a_session_with_one_gpu_is_told_what_to_do(session, monkeypatch):
    monkeypatch.setenv("PORTAL_N_GPUS", "1")

    with pytest.raises(LaunchError, match="Start a session with 2 GPUs or more"):
        probe("resnet50")


def test_what_is_left_is_shared_by_the_points_that_are_left(capsys):
    machine = Machine(0.1)
    budgets = []

    def measure(config, budget_s):
        budgets.append(budget_s)
        return machine.measure(config, budget_s)

    shapes = [f"1x{count}" for count in counts(8)]
    configs = make_configs(shapes, (32,), ("fp32",), (0,), "weak")
    machine.now_s = 1000.0
    found = measure_points(configs, 80, measure, machine.clock)

    # First 12 s are taken for the start of ranks, then the 5 s of the last one.
    assert budgets[:2] == pytest.approx([80 / 4 - 12, (80 - 5 - 8) / 3 - 5])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{configs[0]}: {found[0].images_per_s:.1f} images/s in 80 steps"
    assert lines[-1] == f"4 points in {machine.now_s - 1000:.0f} s."
    assert len(lines) == 5


def test_a_probe_runs_the_training_on_each_number_of_ranks_and_advises(session, monkeypatch):
    calls, advised = [], []

    def run(function, *arguments, **options):
        calls.append((function, arguments, options))
        return [[0.1, 0.1, 0.1]] * options["gpus"]

    def train(batch_size, precision):
        raise NotImplementedError

    monkeypatch.setattr("dsportal.probe.run", run)
    monkeypatch.setattr("dsportal.probe.advise", lambda *given: advised.append(given))

    probe(train, batch_size=64, precision="mixed", seconds=50, images_per_epoch=1000)

    assert [function for function, _, _ in calls] == [measure_for] * 2
    assert [options for _, _, options in calls] == [
        {"gpus": 1, "results": "all"},
        {"gpus": 2, "results": "all"},
    ]
    for n_ranks, (_, (given, config, _), _) in zip((1, 2), calls, strict=True):
        assert given is train
        assert (config.shape.n_ranks, config.batch_size, config.precision) == (n_ranks, 64, "mixed")
    assert calls[0][1][2] == pytest.approx(50 / 2 - 12, abs=0.5)
    ((points, batch_size, images_per_epoch),) = advised
    assert [point.n_gpus for point in points] == [1, 2]
    assert (batch_size, images_per_epoch) == (64, 1000)


def test_refusals_name_what_was_asked(session, monkeypatch):
    with pytest.raises(LaunchError) as refused:
        probe("resnet50", seconds=True)
    assert str(refused.value) == ("You asked for seconds=True. Give a number above 0, such as 60.")

    monkeypatch.setenv("PORTAL_N_GPUS", "1")
    with pytest.raises(LaunchError) as refused:
        probe("resnet50")
    assert str(refused.value) == (
        "A probe measures on 1 and more GPUs, and this session has 1. Start a session with 2 GPUs "
        "or more, or measure in jobs of their own with dsportal.study.scaling."
    )
