# ---
# jupyter:
#   kernelspec:
#     display_name: TensorFlow
#     language: python
#     name: tensorflow
#   portal:
#     packages: [keras>=3, matplotlib, numpy, pillow, tensorflow]
# ---
# ruff: noqa: B018, D100

# %% [markdown]
# # From JPEG files to shards, and how fast storage is
#
# Packs a folder of JPEG files into shards of TFRecords, reads both through `tf.data`, with a simple
# and a tuned pipeline, and says whether storage, decoding or the GPU is the bottleneck.
#
# | | |
# |---|---|
# | **Data** | 1,000 JPEG files of 500 x 375, made here from digits of MNIST |
# | **Time** | about one and a half minutes on 2 cores |
# | **Devices** | the session's cores; the GPU only consumes what they deliver |
#
# For your own images, set `PHOTOS` to a folder with one folder of JPEG files for each class.

# %%
import shutil
import sys
import tempfile
from pathlib import Path

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from digits_data import load_digits
from light_model import make_light_model, training_rate
from made_photos import make_photos
from my_session import shared_storage
from storage_pictures import draw_photos, draw_rates

from dsportal.data import read_shards, storage_report, verify_shards, write_shards
from dsportal.data.report import WAYS

# %% [markdown]
# ## The images
#
# A photograph of ImageNet has about 500 x 375 pixels and 110 KB. To avoid a download, these are
# synthetic; what matters here is their number, their size and that they have to be decoded. They
# are on the node's local disk, in a folder that the last cell deletes.

# %%
N_PHOTOS = 1_000
PLACE = Path(tempfile.mkdtemp(prefix="photos-"))
PHOTOS, SHARDS = PLACE / "jpeg", PLACE / "shards"

make_photos(load_digits(), PHOTOS, N_PHOTOS)
sizes = [path.stat().st_size for path in PHOTOS.glob("*/*.jpg")]
print(f"{len(sizes):,} files of {sum(sizes) / len(sizes) / 1e3:.0f} KB on average")

# %% [markdown]
# ## Into shards
#
# The files are copied into the records unchanged, shuffled once. Sixteen shards are written at a
# time, since most of the time is spent on opening files. If it is stopped, the same call continues:
# a shard is either complete or absent. `shards.json` in the same folder holds a checksum of each.

# %%
write_shards(PHOTOS, SHARDS)

# %%
verify_shards(SHARDS)

# %% [markdown]
# What a training gets: a random part of each image, scaled to 224 x 224. A small part may miss the
# digit, as it may miss the dog in a photograph.

# %%
images, labels = next(iter(read_shards(SHARDS, batch_size=64)))
draw_photos(images[:10].numpy(), [str(label) for label in labels[:10].numpy()])
# %% [markdown]
# ## What the model consumes
#
# A light network on one batch that stays in memory: nothing is read, nothing is decoded. On a GPU
# this figure is hundreds of times higher, and then reading matters.

# %%
model = make_light_model(n_classes=10)
model_rate = training_rate(model, images.numpy(), labels.numpy())
print(f"This model takes {model_rate:,.0f} images/s here.")

# %% [markdown]
# ## On the local disk
#
# The operating system drops the files from its cache before each measurement. *From memory* is
# decoding alone, of files that are already in memory.

# %%
local = storage_report(PHOTOS, SHARDS, gpu_images_per_s=model_rate, seconds=1.5)
local

# %% [markdown]
# ## If each file takes 3 ms to open
#
# On shared storage a file has to be looked up and opened over the network. Here this is simulated:
# each reader waits 3 ms before it opens a file. Nothing else is slower.

# %%
slow = storage_report(PHOTOS, SHARDS, open_ms=3, gpu_images_per_s=model_rate, seconds=1.5)
slow

# %% tags=["gallery"]
ways = {way: words for way, words in WAYS.items() if way in local.rates}
draw_rates({"local disk": local, "3 ms for each open": slow}, ways, model_rate)
# %% [markdown]
# Reading one file after the other waits for each of them. Shards open a few files instead of
# thousands, and 32 readers wait for 32 files at a time: parallel readers gain most of what shards
# gain over simple reading. What matters then is to decode on all cores, and only the part that is
# needed. If all images fit into memory, they need to be decoded only once:
# `read_shards(..., cache=True)`.

# %%
for place, report in {"local disk": local, "3 ms for each open": slow}.items():
    shards, files = report.images_per_s("shards tuned"), report.images_per_s("jpeg simple")
    readers = report.images_per_s("jpeg tuned")
    print(
        f"{place}: {shards / files:.2f} times as fast from shards as from files one after the "
        f"other, and {shards / readers:.2f} times as fast as from files with 32 readers."
    )

# %% [markdown]
# ## On your site's storage
#
# The same from the site's shared storage, if you may write there. For your own data set, if it is
# larger than the memory, the figures are those of the storage alone; these few files are cached by
# storage and node.

# %%
projects = [*shared_storage().values(), Path.home()][0] / "projects"
try:
    there = Path(tempfile.mkdtemp(prefix="photos-", dir=projects))
except OSError as error:
    print(f"Not measured: {projects}: {error.strerror}. Set `projects` to a folder of yours there.")
else:
    shutil.copytree(PLACE, there, dirs_exist_ok=True)
    options = {"gpu_images_per_s": model_rate, "seconds": 0.5}
    print(storage_report(there / PHOTOS.name, there / SHARDS.name, **options))
    print("Each way was read for half a second only: take the figures as a first look.")
    shutil.rmtree(there)

# %%
shutil.rmtree(PLACE)
