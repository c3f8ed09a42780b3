import pytest

from dsportal.start.other_services import advice


@pytest.mark.parametrize(
    ("missing", "cell", "step"),
    [
        ("google.colab", "from google.colab import drive", "drag files"),
        ("google", "from google.colab import drive", "drag files"),
        ("kaggle_secrets", "import kaggle_secrets", "into a file of yours"),
        ("torch", "import transformers", "choose it in the menu Kernel"),
    ],
)
def test_what_is_elsewhere_is_answered_with_what_to_do_here(
    missing: str, cell: str, step: str
) -> None:
    assert step in advice(missing, cell)


@pytest.mark.parametrize("missing", ["google", "no_such_module"])
def test_other_imports_fail_without_advice(missing: str) -> None:
    assert advice(missing, f"from {missing}.cloud import storage") == ""
