# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, scipy, torch]
# ---
# ruff: noqa: D100, D101, D102, D103

# %% [markdown]
# # Which pixel is what? Segmentation with a U-Net, and objects from it
#
# Trains a U-Net to say for each pixel of a picture what it shows, as for cells under a microscope,
# organs or fields. Connected pixels become objects with a box and a size, which are counted and
# compared with the true ones.
#
# | | |
# |---|---|
# | **Data** | 1,200 pictures of 64 x 64 with discs, squares and triangles, drawn here |
# | **Time** | one and a half minutes on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# One GPU is enough: a step on pictures this small takes milliseconds, and a second GPU would spend
# them on exchanging gradients. Pictures of 1,024 x 1,024 are another matter:
# [all GPUs](../../templates/pytorch/distributed.ipynb).

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle
from scipy import ndimage
from torch import nn
from torch.nn.functional import cross_entropy, interpolate, one_hot

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cpu":
    torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

# %% [markdown]
# ## Pictures and masks
#
# A *mask* has a number for each pixel: 0 for the background, then one for each kind. For your own,
# read pictures and masks with Pillow: `np.asarray(Image.open(path))`.
#
# Here the background is brighter on one side, and everything is noisy. Brightness alone does not
# tell one kind from another.

# %%
SIZE = 64
KINDS = ("background", "disc", "square", "triangle")


def draw(chance):
    rows, columns = np.mgrid[:SIZE, :SIZE] / SIZE
    slope = chance.normal(size=2)
    picture = 0.3 + 0.15 * (slope[0] * (rows - 0.5) + slope[1] * (columns - 0.5))
    mask = np.zeros((SIZE, SIZE), np.int64)
    for _ in range(chance.integers(1, 6)):
        kind = int(chance.integers(1, len(KINDS)))
        radius = chance.uniform(0.07, 0.16)
        y, x = chance.uniform(radius, 1 - radius, size=2)
        down, right = (rows - y) / radius, (columns - x) / radius
        inside = {
            1: down**2 + right**2 < 1,
            2: np.maximum(abs(down), abs(right)) < 0.9,
            3: (down < 0.9) & (2 * abs(right) - down < 0.9),
        }[kind]
        picture = np.where(inside, chance.uniform(0.55, 1), picture)
        mask[inside] = kind
    picture += chance.normal(scale=0.12, size=picture.shape)
    return picture.astype(np.float32), mask


def draw_many(n, seed):
    chance = np.random.default_rng(seed)
    pictures, masks = zip(*(draw(chance) for _ in range(n)), strict=True)
    return torch.from_numpy(np.stack(pictures))[:, None], torch.from_numpy(np.stack(masks))


train, validation, test = draw_many(800, 1), draw_many(150, 2), draw_many(250, 3)
shares = one_hot(train[1], len(KINDS)).float().mean(dim=(0, 1, 2))
print(", ".join(f"{kind} {share:.1%}" for kind, share in zip(KINDS, shares, strict=True)))

# %% [markdown]
# ## The U-Net
#
# Down: each level sees half as many pixels and more of the surroundings. Up: back to each pixel,
# where the picture of the same size from the way down joins in, or edges would be blurred.

# %%
WIDTH = 8


def convolutions(n_in, n_out):
    layers = []
    for n_from in (n_in, n_out):
        layers += [nn.Conv2d(n_from, n_out, 3, padding=1, bias=False)]
        layers += [nn.BatchNorm2d(n_out), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, widths=(WIDTH, 2 * WIDTH, 4 * WIDTH)):
        super().__init__()
        self.down = nn.ModuleList(map(convolutions, (1, *widths[:-1]), widths))
        self.up = nn.ModuleList(
            convolutions(wide + narrow, narrow)
            for wide, narrow in zip(widths[:0:-1], widths[-2::-1], strict=True)
        )
        self.out = nn.Conv2d(widths[0], len(KINDS), 1)

    def forward(self, x):
        seen = []
        for level in self.down:
            x = level(x if not seen else nn.functional.max_pool2d(x, 2))
            seen.append(x)
        seen.pop()
        for level in self.up:
            x = interpolate(x, scale_factor=2.0)
            x = level(torch.cat([x, seen.pop()], dim=1))
        return self.out(x)


torch.manual_seed(1)
model = UNet().to(device)
print(f"{sum(parameter.numel() for parameter in model.parameters()):,} weights")

# %% [markdown]
# ## How good is a mask?
#
# The share of pixels that are right says little: a network that sees background everywhere is right
# for most. *IoU* (intersection over union) counts the pixels of one kind: those that both masks
# have, divided by those that at least one has.


# %%
def iou_of(found, true):
    found, true = one_hot(found, len(KINDS)).bool(), one_hot(true, len(KINDS)).bool()
    both = (found & true).sum(dim=(0, 1, 2))
    either = (found | true).sum(dim=(0, 1, 2))
    return (both / either)[1:]  # without the background


@torch.inference_mode()
def masks_of(pictures):
    model.eval()
    return torch.cat([model(part.to(device)).argmax(dim=1).cpu() for part in pictures.split(50)])


# %% [markdown]
# ## Training
#
# The loss has two parts. Cross-entropy counts pixels, most of which are background. *Dice* is
# nearly the IoU, with probabilities in place of yes and no, so that small kinds count as much as
# large ones. Half of the batches are mirrored, with their masks: a mirrored triangle is still one,
# but one on its head would be none here.

# %%
EPOCHS, BATCH_SIZE = 8, 16


def loss_of(scores, masks):
    found, true = scores.softmax(dim=1), one_hot(masks, len(KINDS)).movedim(-1, 1)
    both = (found * true).sum(dim=(0, 2, 3))
    dice = 2 * both / (found.sum(dim=(0, 2, 3)) + true.sum(dim=(0, 2, 3)))
    return cross_entropy(scores, masks) + 1 - dice[1:].mean()


pictures, masks = (part.to(device) for part in train)
n_steps = len(pictures) // BATCH_SIZE
optimizer = torch.optim.AdamW(model.parameters())
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=EPOCHS * n_steps)
curve = []
for epoch in range(1, EPOCHS + 1):
    model.train()
    began = time.perf_counter()
    order = torch.randperm(len(pictures), device=device)
    for batch in order[: n_steps * BATCH_SIZE].split(BATCH_SIZE):
        x, y = pictures[batch], masks[batch]
        if torch.rand(()) < 0.5:
            x, y = x.flip(-1), y.flip(-1)
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
    seconds = time.perf_counter() - began
    curve.append(iou_of(masks_of(validation[0]), validation[1]).mean().item())
    print(
        f"Epoch {epoch:2}  validation IoU {curve[-1]:.3f}  "
        f"{n_steps * BATCH_SIZE / seconds:,.0f} pictures/s",
        flush=True,
    )

# %% [markdown]
# ## The test pictures

# %%
found, true = masks_of(test[0]), test[1]
for kind, iou in zip(KINDS[1:], iou_of(found, true), strict=True):
    print(f"{kind:10} IoU {iou:.3f}")
print(f"Test accuracy: {(found == true).float().mean():.4f} of the pixels")
print(f"Background everywhere would reach {(true == 0).float().mean():.4f}.")

# %% [markdown]
# ## From pixels to objects
#
# Connected pixels of one kind are one object; specks of a few pixels are left out. An object is
# found if one of the same kind covers the same pixels with an IoU of 0.5 or more.
#
# Two discs that touch are one object in this way, in the true masks, too. If yours touch often,
# let the network also learn the line between them, or take a network for detection such as
# `torchvision.models.detection.maskrcnn_resnet50_fpn`.

# %%
SPECK = 12  # pixels


def objects_of(mask):
    found = []
    for kind in range(1, len(KINDS)):
        numbered, _ = ndimage.label(mask == kind)
        for number, box in enumerate(ndimage.find_objects(numbered), start=1):
            pixels = numbered == number
            if pixels.sum() >= SPECK:
                found.append((kind, box, pixels))
    return found


def n_matched(ours, theirs):
    """Count the objects of ours that are among theirs."""
    return sum(
        any(
            kind == other and (pixels & others).sum() >= 0.5 * (pixels | others).sum()
            for other, _, others in theirs
        )
        for kind, _, pixels in ours
    )


found_objects = [objects_of(mask) for mask in found.numpy()]
true_objects = [objects_of(mask) for mask in true.numpy()]
n_found, n_true = sum(map(len, found_objects)), sum(map(len, true_objects))
n_right = sum(map(n_matched, found_objects, true_objects))
n_seen = sum(map(n_matched, true_objects, found_objects))
print(f"{n_found} objects found, {n_right / n_found:.1%} of them right")
print(f"{n_true} objects there, {n_seen / n_true:.1%} of them found")

# %% [markdown]
# Above the pictures with the boxes of what was found, below the pixels that were named wrongly.

# %% tags=["gallery"]
COLOURS = ("#00000000", "#0b6bcb", "#e07b00", "#2e8b57")

_, axes = plt.subplots(2, 8, figsize=(9, 2.5), layout="constrained")
for number, (above, below) in enumerate(axes.T):
    above.imshow(test[0][number, 0], cmap="gray", vmin=0, vmax=1)
    for kind, (rows, columns), _ in found_objects[number]:
        width, height = columns.stop - columns.start, rows.stop - rows.start
        place = (columns.start - 0.5, rows.start - 0.5)
        above.add_patch(Rectangle(place, width, height, fill=False, color=COLOURS[kind]))
    below.imshow(found[number], cmap=ListedColormap(COLOURS), vmin=0, vmax=len(KINDS) - 1)
    below.imshow(found[number] != true[number], cmap=ListedColormap(("#00000000", "#c0362c")))
    for axis in (above, below):
        axis.set(xticks=[], yticks=[])

# %% [markdown]
# **Next:** [why is my step slow?](../../templates/pytorch/profile.ipynb),
# [serve your model](../../templates/inference/serve.ipynb).
