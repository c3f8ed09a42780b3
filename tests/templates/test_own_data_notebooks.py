"""The notebooks that begin with the user's own table, images or text, in the kernels they name."""

import csv
import re

import pytest

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    ("notebook", "at_least", "n_pictures"),
    [
        ("data/your_own.ipynb", 0.8, 1),
        pytest.param("data/tabular.ipynb", 0.9, 1, marks=pytest.mark.release),
        pytest.param("pytorch/images.ipynb", 0.85, 3, marks=pytest.mark.release),
        pytest.param("pytorch/segmentation.ipynb", 0.98, 1, marks=pytest.mark.release),
        # Guessing among the packages would be 0.17.
        pytest.param("pytorch/text_data.ipynb", 0.4, 1, marks=pytest.mark.release),
    ],
)
def test_a_notebook_runs_to_its_end_without_a_warning_and_learns(
    executed, notebook, at_least, n_pictures
):
    found = executed(notebook)

    assert found.standard_error == ""
    assert found.figures["accuracy"] >= at_least
    assert len(found.pictures) == n_pictures


def test_the_predictions_for_an_own_table_are_a_file(executed):
    with (executed("data/your_own.ipynb").folder / "predictions.csv").open() as file:
        rows = list(csv.DictReader(file))

    assert len(rows) == 36
    assert {"alcohol", "target", "predicted", "probability"} <= rows[0].keys()


@pytest.mark.release
def test_lora_adapts_the_language_model_to_another_text_and_can_be_switched_off(executed):
    transformer = executed("pytorch/transformer.ipynb")
    rows = re.findall(r"^(Python|data sets) +(\d+) +(\d+)$", transformer.text, re.MULTILINE)
    (_, python_before, _), (_, other_before, other_after) = rows
    without = re.search(r"leaves the old model: (\d+) about Python", transformer.text)

    assert transformer.standard_error == ""
    # Guessing among the tokens would be 1,000.
    assert int(python_before) < 200
    assert int(other_after) < 0.8 * int(other_before)
    assert without is not None
    assert without[1] == python_before


@pytest.mark.release
def test_the_table_is_searched_on_all_cores_of_the_session(executed):
    tabular = executed("data/tabular.ipynb")
    n_cores = re.search(r"^(\d+) cores$", tabular.text, re.MULTILINE)

    assert n_cores is not None
    compared = rf"^6 settings: [\d.]+ s on one core, [\d.]+ s on {n_cores[1]}\.$"
    # On fewer cores nothing is gained that could be shown.
    is_shown = re.search(compared, tabular.text, re.MULTILINE) is not None
    assert is_shown == (int(n_cores[1]) >= 4)


@pytest.mark.release
def test_pixels_become_objects_most_of_which_are_there(executed):
    segmentation = executed("pytorch/segmentation.ipynb")
    (found,) = re.findall(r"^\d+ objects found, ([\d.]+)% of them right$", segmentation.text, re.M)
    (there,) = re.findall(r"^\d+ objects there, ([\d.]+)% of them found$", segmentation.text, re.M)

    assert float(found) > 80
    assert float(there) > 80


@pytest.mark.release
def test_an_adapter_teaches_the_model_another_text_and_is_a_small_file(executed):
    hugging_face = executed("pytorch/hugging_face.ipynb")
    rows = re.findall(r"^(before|LoRA|all weights) +(\d+) +(\d+)$", hugging_face.text, re.MULTILINE)
    perplexities = {name: (int(python), int(other)) for name, python, other in rows}
    sizes = re.search(r"^adapter (\d+) KB, model ([\d,]+) KB$", hugging_face.text, re.MULTILINE)

    assert hugging_face.standard_error == ""
    assert len(hugging_face.pictures) == 1
    # Guessing among the tokens would be 1,000.
    assert perplexities["before"][0] < 250
    assert perplexities["LoRA"][1] < 0.8 * perplexities["before"][1]
    assert "the old model is back: True" in hugging_face.text
    assert sizes is not None
    assert int(sizes[1]) < 0.3 * int(sizes[2].replace(",", ""))


@pytest.mark.release
def test_batches_of_a_length_hold_less_padding_and_tokens_are_made_once(executed):
    text_data = executed("pytorch/text_data.ipynb")
    shares = dict(
        re.findall(r"^(random|of a length) +([\d.]+)% padding", text_data.text, re.MULTILINE)
    )
    once = re.search(r"^1 process: ([\d.]+) s$", text_data.text, re.MULTILINE)
    again = re.search(r"^again, from its file: ([\d.]+) s$", text_data.text, re.MULTILINE)

    assert float(shares["of a length"]) < 0.5 * float(shares["random"])
    assert once is not None
    assert again is not None
    assert float(again[1]) < float(once[1])
