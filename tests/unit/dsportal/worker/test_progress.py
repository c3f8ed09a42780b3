import pytest

from dsportal.rendezvous.store import Store
from dsportal.task.throughput import Sample, sample_of_bytes
from dsportal.worker.progress import SCOPE, begin, report
from tests.support.eventually import eventually


class Loss:
    """A loss on a GPU: each look at it waits."""

    n_looks = 0

    def __float__(self) -> float:
        self.n_looks += 1
        return 0.5


@pytest.fixture
def store():
    with Store() as store:
        yield store


def sample_of(store: Store, rank: int) -> Sample:
    return sample_of_bytes(store.received(SCOPE)[str(rank)][1])


def test_the_last_report_arrives_when_the_function_returns(store):
    reporter = begin(store.horovod_address[0], 3)
    for step in range(1, 6):
        report(step=step, steps=10, images=4, loss=step)
    reporter.finish()
    found = sample_of(store, 3)

    assert (found.step, found.n_steps, found.is_done) == (5, 10, True)
    assert found.images_per_s > 0


def test_a_report_arrives_while_the_function_runs(store):
    reporter = begin(store.horovod_address[0], 0)
    report(step=1)

    eventually(lambda: store.received(SCOPE), timeout_s=5)
    assert sample_of(store, 0).step == 1
    reporter.finish()


def test_calls_are_counted_where_no_step_is_given(store):
    reporter = begin(store.horovod_address[0], 0)
    for _ in range(3):
        report(images=4)
    reporter.finish()

    assert sample_of(store, 0).step == 3


def test_the_loss_is_looked_at_once_a_second_only(store):
    reporter = begin(store.horovod_address[0], 0)
    loss = Loss()
    for _ in range(100):
        report(loss=loss)
    reporter.finish()

    assert loss.n_looks == 1
    assert sample_of(store, 0).loss == 0.5


def test_a_training_goes_on_where_nobody_takes_its_reports():
    with Store() as store:
        reporter = begin(store.horovod_address[0], 0)
    report(step=1)
    reporter.finish()
