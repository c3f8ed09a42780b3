# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, onnx, onnxruntime, torch]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Inference in INT8 compared with FP32
#
# Trains a small residual network, quantizes it by calibration, and compares both: accuracy, time
# for a batch, images/s.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 6,000 to train, 1,250 to calibrate, 2,750 to test |
# | **Time** | half a minute on 2 cores |
# | **Devices** | ONNX Runtime on TensorRT if it is available, else CUDA, else the session's cores |
#
# For your own model, export it as ONNX and begin at *Calibration*.

# %%
import os
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from digits_data import load_digits
from onnx_inference import Batches, accuracy, has_gpu, has_vnni, open_model
from small_resnet import export_onnx, make_resnet, train

N_THREADS = min(len(os.sched_getaffinity(0)), 8)
torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

# %% [markdown]
# ## The data, and a model
#
# 50 batches of 25 images are for calibration, the rest for accuracy. None of them is used for
# training.

# %%
N_TRAINING, N_BATCHES, CALIBRATION_BATCH = 6_000, 50, 25

digits = load_digits()
images = np.concatenate([digits.train_images, digits.test_images]).transpose(0, 3, 1, 2)
labels = np.concatenate([digits.train_labels, digits.test_labels])
cut = N_TRAINING + N_BATCHES * CALIBRATION_BATCH
calibration, test_images, test_labels = images[N_TRAINING:cut], images[cut:], labels[cut:]

torch.manual_seed(1)
model = make_resnet()
train(model, images[:N_TRAINING], labels[:N_TRAINING])

folder = Path(tempfile.mkdtemp(prefix="inference-"))
fp32, int8 = folder / "fp32.onnx", folder / "int8.onnx"
export_onnx(model, fp32)

# %% [markdown]
# ## Calibration
#
# INT8 has 256 values. Calibration records what each layer outputs for some images, and chooses the
# range that these values cover. Weights have a range for each channel.

# %%
prepared = folder / "prepared.onnx"
quant_pre_process(fp32, prepared)  # folds normalization into the convolutions
quantize_static(
    prepared,
    int8,
    Batches(calibration, CALIBRATION_BATCH),
    quant_format=QuantFormat.QDQ,
    per_channel=True,
    activation_type=QuantType.QInt8 if has_gpu() else QuantType.QUInt8,
    weight_type=QuantType.QInt8,
    # Without VNNI a processor adds two products in 16 bits, which 8 bits overflow; 7 do not.
    reduce_range=not (has_gpu() or has_vnni()),
)
sizes = {path.stem: path.stat().st_size for path in (fp32, int8)}
print(f"{fp32.name} {sizes['fp32'] / 1e3:,.0f} KB, {int8.name} {sizes['int8'] / 1e3:,.0f} KB")

sessions = {"FP32": open_model(fp32, N_THREADS), "INT8": open_model(int8, N_THREADS)}
provider = sessions["INT8"].get_providers()[0]
print(f"Runs on {provider}, {N_THREADS} threads.")

# %% [markdown]
# ## Accuracy
#
# The share of images whose highest score is the right digit (top-1). With ten classes, top-5 would
# say little.

# %%
found = {name: accuracy(session, test_images, test_labels) for name, session in sessions.items()}
for name, values in found.items():
    print(f"{name}  {values.top_1:.2%} of {len(test_images):,} images")
drop = 100 * (found["FP32"].top_1 - found["INT8"].top_1)
print(f"INT8 loses {drop:.2f} points.")
print(f"Test accuracy: {found['INT8'].top_1:.4f}")

# %% [markdown]
# ## Speed, by batch size
#
# Small batches answer soonest; large batches use the device best. Both precisions take turns, one
# batch each, so that whatever else runs on the node slows both; the times are medians.

# %% tags=["gallery"]
BATCH_SIZES = (1, 4, 16, 64, 256)
SECONDS = 1.5  # for each batch size


def latencies_s(batch):
    times_s = {name: [] for name in sessions}
    for session in sessions.values():
        session.run(None, {"images": batch})  # not timed: the first one allocates memory
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times_s["INT8"]) < 5:
        for name, session in sessions.items():
            began = time.perf_counter()
            session.run(None, {"images": batch})
            times_s[name].append(time.perf_counter() - began)
    return {name: np.median(times) for name, times in times_s.items()}


medians = [latencies_s(test_images[:size]) for size in BATCH_SIZES]
times_s = {name: [times[name] for times in medians] for name in sessions}

_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for (name, times), colour in zip(times_s.items(), ("#9aa5b1", "#0b6bcb"), strict=True):
    rates = [size / time_s for size, time_s in zip(BATCH_SIZES, times, strict=True)]
    left.plot(BATCH_SIZES, rates, color=colour, marker="o", label=name)
    right.plot(BATCH_SIZES, [1000 * time_s for time_s in times], color=colour, marker="o")
left.set(ylabel="images/s", ylim=(0, None))
left.legend(frameon=False)
right.set(ylabel="ms for a batch", yscale="log")
for axis in (left, right):
    axis.set_xscale("log", base=2)
    axis.set_xticks(BATCH_SIZES, [str(size) for size in BATCH_SIZES])
    axis.set_xlabel("batch size")
    axis.spines[["top", "right"]].set_visible(False)

# %%
print("batch   FP32 ms   INT8 ms   FP32 images/s   INT8 images/s   INT8 / FP32")
for size, slow_s, fast_s in zip(BATCH_SIZES, times_s["FP32"], times_s["INT8"], strict=True):
    rates = f"{size / slow_s:13,.0f}   {size / fast_s:13,.0f}"
    print(f"{size:5}  {1e3 * slow_s:8.2f}  {1e3 * fast_s:8.2f}   {rates}   {slow_s / fast_s:11.2f}")

# %% [markdown]
# What INT8 gains depends on the device: GPUs with INT8 tensor cores and processors with VNNI
# multiply four times as many small numbers; others gain little or lose.

# %%
best = {
    name: max(size / time_s for size, time_s in zip(BATCH_SIZES, times, strict=True))
    for name, times in times_s.items()
}
print(f"At its best batch size INT8 gives {best['INT8']:,.0f} images/s, FP32 {best['FP32']:,.0f}.")
print(f"INT8 answers {best['INT8'] / best['FP32']:.2f} times as fast.")
