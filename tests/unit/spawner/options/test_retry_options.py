"""Which other choice is offered after a session failed."""

import pytest

from dsportal.slurm.states import JobState
from spawner.options.retry_options import correct
from spawner.slurm.jobs import JobEnd

OUT_OF_MEMORY = JobEnd(state=JobState.OUT_OF_MEMORY)
NO_SUCH_NODE = JobEnd(state=JobState.FAILED, reason="BadConstraints")


@pytest.mark.parametrize(
    "end",
    [
        OUT_OF_MEMORY,
        JobEnd(state=JobState.FAILED, signal=9, memory_share=0.9),
        JobEnd(state=JobState.FAILED, exit_code=137, memory_share=1.1),
    ],
)
def test_a_session_without_enough_memory_is_offered_one_gpu_more(end: JobEnd) -> None:
    correction = correct({"gpus": "2", "hours": "4"}, end, most_gpus=4)

    assert correction is not None
    assert correction.words == "with 3 GPUs"
    assert correction.options == {"gpus": "3", "hours": "4"}


@pytest.mark.parametrize("most_gpus", [2, None])
def test_no_more_gpus_are_offered_than_there_are(most_gpus: int | None) -> None:
    assert correct({"gpus": "2"}, OUT_OF_MEMORY, most_gpus=most_gpus) is None


def test_what_cannot_be_had_is_left_out() -> None:
    end = JobEnd(state=JobState.CANCELLED, reason="Reservation course has ended")
    untyped = correct({"gpus": "2", "gpu_type": "v100"}, NO_SUCH_NODE, most_gpus=4)
    unreserved = correct({"reservation": "course"}, end, most_gpus=4)
    fewer = correct({"gpus": "2"}, NO_SUCH_NODE, most_gpus=4)

    assert untyped is not None
    assert (untyped.words, untyped.options) == ("with any type of GPU", {"gpus": "2"})
    assert unreserved is not None
    assert unreserved.options == {}
    assert fewer is not None
    assert fewer.words == "with 1 GPU"


@pytest.mark.parametrize(
    ("options", "end"),
    [
        ({"gpus": "1"}, NO_SUCH_NODE),
        ({"gpus": "1"}, JobEnd(state=JobState.NODE_FAIL)),
        ({"gpus": "1"}, JobEnd(state=JobState.FAILED, exit_code=3)),
        ({"gpus": "1"}, JobEnd(state=JobState.FAILED, signal=9)),
        ({"gpus": "1"}, JobEnd(state=JobState.FAILED, exit_code=137, memory_share=0.02)),
        ({"gpus": "many"}, OUT_OF_MEMORY),
    ],
)
def test_where_nothing_else_helps_nothing_else_is_offered(
    options: dict[str, str], end: JobEnd
) -> None:
    assert correct(options, end, most_gpus=4) is None
