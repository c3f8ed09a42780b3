import pytest

from dsportal import study as study_module
from dsportal.errors import LaunchError, SessionError
from dsportal.scaling.study_config import make_configs, summarize
from dsportal.scaling.study_report import render_report, speedups
from dsportal.study import complete, load, scaling


def configs(*shapes: str, batch_sizes=(32,), precisions=("fp32",), kind="weak"):
    return make_configs(shapes, batch_sizes, precisions, (0,), kind)


def steps(config) -> list[list[float]]:
    """Two ranks take 0.5 s a step, one takes 0.4 s."""
    return [[0.4 + 0.05 * (config.shape.n_ranks > 1)] * 4] * config.shape.n_ranks


def test_weak_scaling_keeps_the_batch_of_each_rank_and_strong_scaling_that_of_all():
    weak = configs("1x1", "2x2")
    strong = configs("1x1", "2x2", kind="strong")

    assert [config.batch_size for config in weak] == [32, 32]
    assert [config.batch_size for config in strong] == [32, 8]


def test_a_batch_that_cannot_be_shared_out_is_refused_with_one_that_can():
    with pytest.raises(LaunchError, match=r"Choose a multiple of 3\."):
        configs("1x3", kind="strong")


@pytest.mark.parametrize("shape", ["0x1", "4", "1x", "-1x2", "2 x 2"])
def test_what_is_no_shape_is_shown_with_an_example(shape):
    with pytest.raises(LaunchError, match="such as '2x4'"):
        configs(shape)


def test_a_model_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(LaunchError, match="choose alexnet, inceptionv3, resnet50, vgg16"):
        scaling("resnet51")


def test_a_step_is_over_when_its_slowest_rank_is():
    (config,) = configs("1x2")
    found = summarize(config, [[0.1, 0.4], [0.3, 0.1]])

    assert found.step_s == pytest.approx(0.35)
    assert found.images_per_s == pytest.approx(2 * 2 * 32 / 0.7)
    assert found.spread > 0


def test_a_shape_that_no_node_is_there_for_is_left_out_with_the_reason(tmp_path, capsys):
    def one_node(config):
        if config.n_nodes > 1:
            raise SessionError("the partition has 1 node")
        return steps(config)

    study = complete(load("train", tmp_path), configs("2x1", "1x1", "1x2"), one_node)

    assert [each.config.shape.n_nodes for each in study.measurements] == [1, 1]
    assert "left out: the partition has 1 node" in capsys.readouterr().out
    with pytest.raises(SessionError, match="has 1 node"):
        complete(load("other", tmp_path / "other"), configs("2x1", "2x2"), one_node)


def test_a_study_that_was_stopped_goes_on_where_it_was(tmp_path, capsys):
    wanted = configs("1x1", "1x2", "2x2")

    def stopped_at_the_third(config):
        if config == wanted[2]:
            raise KeyboardInterrupt
        return steps(config)

    with pytest.raises(KeyboardInterrupt):
        complete(load("train", tmp_path), wanted, stopped_at_the_third)
    capsys.readouterr()
    study = complete(load("train", tmp_path), wanted, steps)
    printed = capsys.readouterr().out

    assert [each.config for each in study.measurements] == wanted
    assert printed.startswith("[3 of 3] 2x2, batch 32, fp32\n")


def test_speed_up_is_over_the_fewest_ranks_of_the_same_precision(tmp_path):
    wanted = configs("1x1", "1x2", precisions=("fp32", "mixed"))
    study = complete(load("train", tmp_path), wanted, steps)
    found = speedups(study.measurements)

    assert [round(found[config], 2) for config in wanted] == [1.0, 1.0, 1.78, 1.78]


def test_the_study_advises_and_refuses_where_it_cannot(tmp_path):
    study = complete(load("train", tmp_path), configs("1x1", "1x2"), steps)

    assert study.advice().n_gpus >= 2
    with pytest.raises(LaunchError, match="No advice from this study"):
        study.advice(precision="mixed")


def test_the_study_advises_from_its_largest_batch(tmp_path):
    def seconds(config):
        return [[0.001 * config.batch_size + 0.05 * (config.shape.n_ranks > 1)] * 4]

    shapes = ("1x1", "1x2")
    large_only = configs(*shapes, batch_sizes=(128,))
    both = complete(load("a", tmp_path / "a"), configs(*shapes, batch_sizes=(8, 128)), seconds)
    large = complete(load("b", tmp_path / "b"), large_only, seconds)

    assert both.advice() == large.advice()


def test_the_report_is_one_page_with_every_figure_and_no_markup_of_a_name(tmp_path):
    study = complete(load("<b>", tmp_path), configs("1x1", "1x2"), steps)
    page = render_report(study.name, study.measurements)

    assert study.report().read_text() == page
    assert "<b>" not in page
    assert "1x2, batch 32, fp32" in page
    assert page.count("<svg") == 2
    assert "http" not in page


def test_a_study_shares_its_folder_only_with_one_of_the_same_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(study_module, "parent_folder", lambda: tmp_path)
    monkeypatch.setattr(
        study_module, "run", lambda work, train, config, *rest, **shape: steps(config)
    )
    same = {"shapes": ("1x1",), "steps": 30, "warmup_steps": 5}
    others = (
        {"steps": 40},
        {"warmup_steps": 1},
        {"shapes": ("1x2",)},
        {"batch_sizes": (64,)},
        {"precisions": ("mixed",)},
        {"threads": (4,)},
        {"shapes": ("1x2",), "scaling": "strong"},
    )

    first = scaling("resnet50", **same)
    folders = [scaling("resnet50", **same | other).folder for other in others]

    assert scaling("resnet50", **same).folder == first.folder
    assert scaling("vgg16", **same).folder not in {first.folder, *folders}
    assert len({first.folder, *folders}) == 1 + len(others)
