# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [fastapi, matplotlib, numpy, onnx, onnxruntime, torch, uvicorn]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Serve a model from your session
#
# Trains a small network, serves it with FastAPI as a program of its own, asks it from this
# notebook, and measures how many answers it gives: one by one, from several clients, in batches.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 6,000 to train, 4,000 to ask with |
# | **Time** | 45 seconds on 2 cores |
# | **Devices** | the session's cores; ONNX Runtime on CUDA if it is available |
#
# For your own model, export it as ONNX and begin at *The server*.

# %%
import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from digits_data import load_digits
from small_resnet import export_onnx, make_resnet, train

torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

# %% [markdown]
# ## A model

# %%
N_TRAINING = 6_000

digits = load_digits()
images = np.concatenate([digits.train_images, digits.test_images]).transpose(0, 3, 1, 2)
labels = np.concatenate([digits.train_labels, digits.test_labels])
asked, answers = (255 * images[N_TRAINING:]).astype(np.uint8), labels[N_TRAINING:]

torch.manual_seed(1)
model = make_resnet()
train(model, images[:N_TRAINING], labels[:N_TRAINING])

folder = Path("served")
folder.mkdir(exist_ok=True)
export_onnx(model, folder / "digits.onnx")

# %% [markdown]
# ## The server
#
# It is a file, so that it also runs without this notebook. Three things make it fit for a node
# that you share:
#
# * Other users of the node reach its port, so each request has to bring a key. The server gets the
#   key in its environment, since command lines are visible to all.
# * A request brings the pixels as bytes and cannot be larger than 256 images. It is not unpickled:
#   that would run code of whoever sends it.
# * The notebook opens the port and hands it on, so nobody else can take it in between.

# %%
SERVER = """
import hmac
import os
import socket
import sys

import numpy as np
import onnxruntime
import uvicorn
from fastapi import FastAPI, HTTPException, Request

KEY = os.environ["SERVED_KEY"]
SIZE, MOST = 28 * 28, 256
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
model = onnxruntime.InferenceSession(
    "digits.onnx", options, providers=onnxruntime.get_available_providers()
)
app = FastAPI(title="Digits", docs_url=None, redoc_url=None)


@app.post("/predict")
async def predict(request: Request):
    if not hmac.compare_digest(request.headers.get("x-key", ""), KEY):
        raise HTTPException(401, "Send the key in the header X-Key.")
    if int(request.headers.get("content-length", MOST * SIZE + 1)) > MOST * SIZE:
        raise HTTPException(413, f"Send {MOST} images at most.")
    pixels = np.frombuffer(await request.body(), np.uint8)
    if pixels.size == 0 or pixels.size % SIZE:
        raise HTTPException(422, f"An image has {SIZE} bytes.")
    images = pixels.reshape(-1, 1, 28, 28).astype(np.float32) / 255
    (scores,) = model.run(None, {"images": images})
    return {"digits": scores.argmax(1).tolist()}


config = uvicorn.Config(app, log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
"""
(folder / "server.py").write_text(SERVER)

KEY = secrets.token_urlsafe()
with socket.create_server(("127.0.0.1", 0)) as listener:
    port = listener.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "server.py", str(listener.fileno())],
        cwd=folder,
        env={**os.environ, "SERVED_KEY": KEY},
        pass_fds=[listener.fileno()],
    )
print(f"The server has port {port}.")

# %% [markdown]
# ## Ask it


# %%
def connect():
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def predict(client, pixels, key=KEY):
    client.request("POST", "/predict", pixels.tobytes(), {"X-Key": key})
    answer = client.getresponse()
    return answer.status, json.loads(answer.read())


client = connect()  # waits until the server has loaded its model
status, answer = predict(client, asked[:8])
print(f"{status}: it reads {answer['digits']}, and {answers[:8].tolist()} is right.")
print("with a wrong key:", *predict(client, asked[:1], key="guessed"))

BATCH = 250
found = []
for first in range(0, len(asked), BATCH):
    found += predict(client, asked[first : first + BATCH])[1]["digits"]
print(f"Test accuracy: {(np.array(found) == answers).mean():.4f}")

# %% [markdown]
# ## How many answers does it give?
#
# Each request costs a way to the server and back, and a batch pays it once for all of its images.
# The price of a batch is the time until its first answer. Several clients at once are what a
# service meets; here they share the cores with the server.

# %% tags=["gallery"]
SECONDS = 3


def ask_for_a_while(size):
    """Return the seconds that each request took."""
    own, times_s = connect(), []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        began = time.perf_counter()
        predict(own, asked[:size])
        times_s.append(time.perf_counter() - began)
    return times_s


WAYS = {"one by one": (1, 1), "4 clients": (4, 1), "batches of 16": (1, 16), "of 256": (1, 256)}
rates, medians_ms = {}, {}
for name, (n_clients, size) in WAYS.items():
    with ThreadPoolExecutor(n_clients) as pool:
        times_s = np.concatenate([*pool.map(ask_for_a_while, [size] * n_clients)])
    rates[name] = size * len(times_s) / SECONDS
    medians_ms[name] = 1e3 * np.median(times_s)

_, (left, right) = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
left.barh([*rates], [*rates.values()], color="#0b6bcb")
left.set(xlabel="images/s")
right.barh([*medians_ms], [*medians_ms.values()], color="#9aa5b1")
right.set(xlabel="ms for a request, median")
for axis in (left, right):
    axis.bar_label(axis.containers[0], fmt="{:,.0f}", padding=3)
    axis.margins(x=0.15)
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)

# %%
for name in WAYS:
    print(f"{name:14} {rates[name]:8,.0f} images/s  {medians_ms[name]:7.1f} ms for a request")

# %% [markdown]
# ## From your browser and your laptop
#
# The portal leads from its own address to the port, behind your login. A program elsewhere brings a
# token of the page *Tokens*, and the server's key.

# %%
prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "/user/YOUR-NAME/")
print(
    "curl --data-binary @digit.bytes -H 'Authorization: token TOKEN' -H 'X-Key: ...' \\\n"
    f"    https://PORTAL{prefix}port/{port}/predict"
)

# %% [markdown]
# The server ends with the session. For one that runs longer, start `server.py` in a job, and count
# on it only as long as the job's time limit. To stop it now:

# %%
server.terminate()
server.wait()
client.close()

# %% [markdown]
# **Next:** [the same model in INT8](../../templates/inference/int8.ipynb) answers sooner on most
# processors.
