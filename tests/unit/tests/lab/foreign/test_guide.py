"""The administrators' guide as a test follows it: its blocks, and the edits that they show."""

from tests.lab.foreign.guide import SECTIONS, read_guide, steps_of


def test_every_block_to_be_run_is_in_a_section_that_the_test_follows() -> None:
    found = [step.section for step in steps_of(read_guide(), {"none": "none"})]

    assert set(found) == set(SECTIONS)
