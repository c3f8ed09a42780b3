"""What the mutation suite writes down, with made-up counts."""

from __future__ import annotations

from tests.mutation.modules import MODULES
from tests.mutation.report import report_of
from tests.mutation.score import Score

SCORES = {
    "spawner/options/limits.py": Score(n_killed=45, n_survived=5, n_equivalent=2),
    "portal/launch/probe.py": Score(n_killed=20, n_timed_out=5, n_no_tests=25),
}


def test_a_report_has_the_score_of_all_and_of_each_module() -> None:
    report = report_of(SCORES, 50, {"commit": "cefa8c9"}, "mutmut 3.8.1")

    assert report["figures"]["mutation_score"] == 70.0
    assert report["figures"]["killed"] == 65
    assert report["modules"]["portal/launch/probe.py"] == {
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
    sampled, whole = (report_of(SCORES, n, {}, "mutmut 3.8.1") for n in (50, 0))

    assert sampled["sample"] == {"most_per_module": 50, "seed": "1"}
    assert "at most 50 of each module" in sampled["notes"][0]
    assert whole["sample"] is None
    assert whole["notes"][0] == "All mutants of mutmut 3.8.1."


def test_a_report_names_the_modules_that_it_lacks() -> None:
    whole = {module.path: Score(n_killed=1) for module in MODULES}
    part = {path: score for path, score in whole.items() if path not in SCORES}

    assert not [n for n in report_of(whole, 15, {}, "")["notes"] if "Not measured" in n]
    assert report_of(part, 15, {}, "")["notes"][-1] == (
        "Not measured in this run: `spawner/options/limits.py`, `portal/launch/probe.py`."
    )
