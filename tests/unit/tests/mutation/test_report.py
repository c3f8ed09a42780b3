"""What the mutation suite writes down, with made-up counts."""

from __future__ import annotations

from tests.mutation.modules import MODULES
from tests.mutation.report import held_out_of, report_of, with_held_out
from tests.mutation.sampled_mutmut import Sample
from tests.mutation.score import Score

SCORES = {
    "spawner/options/limits.py": Score(n_killed=45, n_survived=5, n_equivalent=2),
    "portal/dsportal/dsportal/probe.py": Score(n_killed=20, n_timed_out=5, n_no_tests=25),
}


def test_a_report_has_the_score_of_all_and_of_each_module() -> None:
    report = report_of(SCORES, Sample(n_most=50), {"commit": "cefa8c9"}, "mutmut 3.8.1")

    assert report["figures"]["mutation_score"] == 70.0
    assert report["figures"]["killed"] == 65
    assert report["modules"]["portal/dsportal/dsportal/probe.py"] == {
        "mutation_score": 50.0,
        "killed": 20,
        "timed_out": 5,
        "survived": 0,
        "no_tests": 25,
        "equivalent": 0,
    }
    assert report["words"].keys() == report["figures"].keys()
    assert report["machine"]["commit"] == "cefa8c9"


def test_a_report_says_whether_all_mutants_were_tried() -> None:
    sampled, whole = (report_of(SCORES, Sample(n_most=n), {}, "mutmut 3.8.1") for n in (50, 0))

    assert sampled["sample"] == {"most_per_module": 50, "seed": "1"}
    assert "at most 50 of each module" in sampled["notes"][0]
    assert whole["sample"] is None
    assert whole["notes"][0] == "All mutants of mutmut 3.8.1."


def test_a_report_names_the_modules_that_it_lacks() -> None:
    whole = {module.path: Score(n_killed=1) for module in MODULES}
    part = {path: score for path, score in whole.items() if path not in SCORES}

    assert not [n for n in report_of(whole, Sample(), {}, "")["notes"] if "Not measured" in n]
    assert report_of(part, Sample(), {}, "")["notes"][-1] == (
        "Not measured in this run: `spawner/options/limits.py`, "
        "`portal/dsportal/dsportal/probe.py`."
    )


def test_a_held_out_sample_is_a_figure_beside_the_other_and_replaces_an_older_one() -> None:
    usual = report_of(SCORES, Sample(n_most=50), {"commit": "cefa8c9"}, "mutmut 3.8.1")
    sample = Sample(n_most=5, is_held_out=True)
    older, newer = (
        held_out_of({"a.py": score}, sample, {"commit": commit}, "mutmut 3.8.1")
        for commit, score in (
            ("1111111", Score(n_killed=1, n_survived=1)),
            ("2222222", Score(n_killed=3, n_timed_out=1, n_survived=1)),
        )
    )

    report = with_held_out(with_held_out(usual, older), newer)

    assert report["figures"] == {**usual["figures"], "mutation_score_held_out": 80.0}
    assert report["words"].keys() == report["figures"].keys()
    assert report["machine"]["commit"] == "cefa8c9"
    assert report["held_out"]["sample"] == {"most_per_module": 5, "seed": "2"}
    assert report["notes"][:-1] == usual["notes"]
    assert "4 of 5 mutants noticed" in report["notes"][-1]
    assert "at commit 2222222" in report["notes"][-1]
