"""Cells of notebooks that train two steps and print whether the loss falls."""

TRAIN_TENSORFLOW = """
import keras, numpy as np
from dsportal import run
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
x = np.arange(8, dtype="float32").reshape(-1, 1)
losses = [model.train_on_batch(x, 2 * x) for _ in range(2)]
print("falls", losses[1] < losses[0])
"""
TRAIN_PYTORCH = """
import torch
from dsportal import run
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.arange(8.0).reshape(-1, 1)
losses = []
for _ in range(2):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), 2 * x)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("falls", losses[1] < losses[0])
"""
