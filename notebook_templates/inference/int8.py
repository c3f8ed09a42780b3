# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, onnx, onnxruntime, torch]
# ---
# ruff: noqa: D100

# %% [markdown]
# # Inference in INT8 compared with FP32
#
# Trains a small residual network, quantizes it by calibration, and compares both: accuracy, time
# for a batch, images/s.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 6,000 to train, 1,250 to calibrate |
# | **Time** | about one minute on 2 cores |
# | **Devices** | ONNX Runtime on TensorRT if it is available, else CUDA, else the session's cores |
#
# For your own model, export it as ONNX and begin at *Calibration*.

# %%
import os
import sys
import tempfile
from pathlib import Path

sys.path.append("../shared")

import numpy as np
import torch
from digits_data import load_digits
from inference_pictures import draw_throughput
from onnx_inference import Batches, accuracy, latency_s, open_model, quantize
from small_resnet import export_onnx, make_resnet, train

N_THREADS = min(len(os.sched_getaffinity(0)), 8)
torch.set_num_threads(N_THREADS)

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
quantize(fp32, int8, Batches(calibration, CALIBRATION_BATCH))
sizes = {path.stem: path.stat().st_size for path in (fp32, int8)}
print(f"{fp32.name} {sizes['fp32'] / 1e3:,.0f} KB, {int8.name} {sizes['int8'] / 1e3:,.0f} KB")

sessions = {"FP32": open_model(fp32, N_THREADS), "INT8": open_model(int8, N_THREADS)}
provider = sessions["INT8"].get_providers()[0]
print(f"Runs on {provider}, {N_THREADS} threads.")

# %% [markdown]
# ## Accuracy
#
# Top-1: the first answer is right. Top-5: the right one is among the first five.

# %%
found = {name: accuracy(session, test_images, test_labels) for name, session in sessions.items()}
top_1_drop = 100 * (found["FP32"].top_1 - found["INT8"].top_1)
top_5_drop = 100 * (found["FP32"].top_5 - found["INT8"].top_5)
print(f"{len(test_images):,} images   top-1     top-5")
for name, values in found.items():
    print(f"{name:12}  {values.top_1:8.2%}  {values.top_5:8.2%}")
print(f"Difference    {top_1_drop:7.2f}%  {top_5_drop:7.2f}%   points")

# %% [markdown]
# ## Speed, by batch size
#
# Small batches answer soonest; large batches use the device best. The times are medians; both
# precisions alternate, so that whatever else runs on the node slows both.

# %% tags=["gallery"]
BATCH_SIZES = (1, 4, 16, 64, 256)

times_s = {name: [] for name in sessions}
for size in BATCH_SIZES:
    for name, session in sessions.items():
        times_s[name].append(latency_s(session, test_images[:size], seconds=0.7))
draw_throughput(BATCH_SIZES, times_s)
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
print(f"Figure: int8_vs_fp32 = {best['INT8'] / best['FP32']:.2f}")
print(f"Figure: int8_accuracy_drop_percent = {top_1_drop:.2f}")
print(f"Figure: accuracy = {found['INT8'].top_1:.4f}")
