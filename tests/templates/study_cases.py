"""A study of one of the models that dsportal brings; run as `study_cases.py CASE...`.

The environment, the outcome lines and the folders are those of tests/support/launch_cases.py.
"""

import sys

import launch_cases

from dsportal.study import scaling


def case_known_model():
    """The smallest of them, in both precisions."""
    study = scaling(
        "alexnet",
        shapes=("1x1",),
        batch_sizes=(2,),
        precisions=("fp32", "mixed"),
        steps=2,
        warmup_steps=1,
    )
    return {
        "precisions": [each.config.precision for each in study.measurements],
        "rates": [each.images_per_s for each in study.measurements],
    }


if __name__ == "__main__":
    launch_cases.main(sys.argv[1:], globals())
