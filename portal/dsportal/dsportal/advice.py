"""How many GPUs are worth using: predictions from a fitted model of the step time."""

from collections.abc import Sequence
from dataclasses import dataclass

from dsportal.scaling.step_time import Point, Prediction, StepTime, fit_step_time

# Far beyond what was measured, so that the table shows where more GPUs stop to pay.
N_GPUS = (1, 2, 4, 8, 16, 32, 64)
# Least speed-up for twice the GPUs; below it two jobs side by side get more done.
PAYS_FROM = 1.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Predicted speed-ups, and how many GPUs pay.

    Attributes:
        predictions: For 1, 2, 4 ... 64 GPUs.
        n_gpus: Largest number of GPUs that pays.
        images_per_s: Throughput on one GPU.
        images_per_epoch: 0 if not known; GPU hours are then left out.
    """

    predictions: tuple[Prediction, ...]
    n_gpus: int
    images_per_s: float
    images_per_epoch: int
    text: str

    def __repr__(self) -> str:
        return f"{self.text}\n\n{self.table()}"

    def gpu_hours(self, prediction: Prediction) -> float:
        """Return the cost of one epoch in GPU hours: GPUs times hours."""
        seconds = self.images_per_epoch / (self.images_per_s * prediction.speedup)
        return prediction.n_gpus * seconds / 3600

    def table(self) -> str:
        """Return the predictions as a plain-text table."""
        head = "GPUs  speed-up  (band)         efficiency  images/s"
        lines = [head + ("  GPU hours an epoch" if self.images_per_epoch else "")]
        for each in self.predictions:
            band = f"({each.lowest:.1f} to {each.highest:.1f})"
            line = (
                f"{each.n_gpus:4}  {each.speedup:7.1f}x  {band:13}  {each.efficiency:9.0%}  "
                f"{self.images_per_s * each.speedup:8.1f}"
            )
            hours = self.gpu_hours(each)
            # Two digits of what may be seconds: 0.00 would say nothing.
            cost = f"  {hours:.2g}" if hours < 10 else f"  {hours:,.0f}"
            lines.append(line + (cost if self.images_per_epoch else ""))
        return "\n".join(lines)


def advise(points: Sequence[Point], batch_size: int, images_per_epoch: int = 0) -> Advice:
    """Advise how many GPUs pay for a training.

    Args:
        points: Measured step times, with the same batch on each GPU.
        images_per_epoch: Images of one epoch; 0 leaves GPU hours out.
    """
    model = fit_step_time(points)
    predictions = tuple(model.predict(n_gpus) for n_gpus in N_GPUS)
    best = _most_that_pay(predictions)
    return Advice(
        predictions=predictions,
        n_gpus=best.n_gpus,
        images_per_s=batch_size / model.step_s(1),
        images_per_epoch=images_per_epoch,
        text=_words(predictions, best, model, max(point.n_gpus for point in points)),
    )


def _most_that_pay(predictions: Sequence[Prediction]) -> Prediction:
    best = predictions[0]
    for each in predictions[1:]:
        # The first doubling that does not pay ends it, whatever larger numbers promise.
        if each.speedup < PAYS_FROM * best.speedup:
            break
        best = each
    return best


def _words(
    predictions: Sequence[Prediction], best: Prediction, model: StepTime, n_measured: int
) -> str:
    count = "1 GPU" if best.n_gpus == 1 else f"{best.n_gpus} GPUs"
    gain = f": {_times(best)}" if best.n_gpus > 1 else ""
    following = [each for each in predictions if each.n_gpus > best.n_gpus]
    if not following:
        text = f"Use up to {count}{gain}."
    else:
        after = following[0]
        text = (
            f"Use {count}{gain}. More GPUs are not worthwhile: {after.n_gpus} GPUs are "
            f"{_times(after)}. Run two jobs on {count} each instead."
        )
    # Several fits: the points do not tell bandwidth and latency apart.
    if best.n_gpus > 2 * n_measured or len(model.fits) > 1:
        text += (
            f" Measured on at most {n_measured} GPUs: measure with more GPUs before you rely on "
            "predictions beyond that."
        )
    return text


def _times(prediction: Prediction) -> str:
    band = f"{prediction.lowest:.1f} to {prediction.highest:.1f}"
    return f"{prediction.speedup:.1f} ({band}) times as fast as one"
