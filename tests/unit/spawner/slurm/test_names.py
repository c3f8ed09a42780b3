"""Which texts can be one name of Slurm's."""

import pytest

from spawner.slurm.names import is_name


@pytest.mark.parametrize(
    "text", ["jupyter", "physics+astro", "a@b", "1g.5gb", "é", "a b", "x" * 255]
)
def test_whatever_slurm_lists_is_a_name(text: str) -> None:
    assert is_name(text)


@pytest.mark.parametrize("text", ["", "a,b", "-x", "a\nb", "a\0", " a", "x" * 256])
def test_what_an_option_would_take_for_something_else_is_none(text: str) -> None:
    assert not is_name(text)
