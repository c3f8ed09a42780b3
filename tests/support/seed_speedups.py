"""Speed-ups over one GPU that published studies name, to check predictions against.

Source:
    "Scaling Deep Learning on Multiple V100 Nodes" (Dell EMC, 2017), text of figures 2 and 3:
    ResNet50 on 16 V100-SXM2 in 4 nodes. "Deep Learning solution" guide (Dell EMC, 2018), section
    3.1.4: ResNet50 on 8 V100-SXM2 in 2 nodes and on 32 V100-PCIe in 8 nodes.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Study:
    """Speed-ups of one framework and precision by the number of GPUs."""

    name: str
    on_8: float
    on_more: dict[int, float]


STUDIES = (
    Study("MXNet FP32", 7.8, {16: 15.4, 32: 29.4}),
    Study("MXNet FP16", 7.1, {16: 13.8, 32: 25.8}),
    Study("TensorFlow FP32", 7.1, {32: 22.0}),
    Study("TensorFlow FP16", 6.8, {32: 23.7}),
    Study("Caffe2 FP32", 7.4, {16: 14.8, 32: 26.5}),
    Study("Caffe2 FP16", 6.9, {16: 13.6, 32: 27.3}),
)


def prediction_errors() -> list[tuple[Study, int, float]]:
    """Return how far each prediction from 1 and 8 GPUs is from what was published.

    Returns:
        The study, the number of GPUs and the error in percent.
    """
    from dsportal.scaling.step_time import Point, fit_step_time

    errors = []
    for study in STUDIES:
        points = [Point(n_gpus=1, step_s=1.0), Point(n_gpus=8, step_s=8 / study.on_8)]
        model = fit_step_time(points)
        for n_gpus, speedup in study.on_more.items():
            error = 100 * abs(model.predict(n_gpus).speedup / speedup - 1)
            errors.append((study, n_gpus, error))
    return errors
