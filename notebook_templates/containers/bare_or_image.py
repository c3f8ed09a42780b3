# ---
# jupyter:
#   kernelspec:
#     display_name: TensorFlow
#     language: python
#     name: tensorflow
#   portal:
#     packages: [keras>=3, matplotlib, numpy, tensorflow]
# ---
# ruff: noqa: D100

# %% [markdown]
# # What a container costs
#
# The same training on the bare node and in an Apptainer image, in turns, and the difference in
# percent.
#
# | | |
# |---|---|
# | **Data** | 1,024 digits of MNIST |
# | **Time** | about one minute on 2 cores |
# | **Devices** | the session's GPUs; its cores if they are simulated |
#
# It takes the first image that you made with `dsportal environments add NAME --image ...`; to
# choose another, set `IMAGE`. The image needs a Python of the same version as this kernel's.

# %%
import platform
import subprocess
import sys
from pathlib import Path

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from charts import draw_bars, panels
from turns import find_container, find_image, in_image, take_turns

CONTAINER = find_container()
IMAGE = find_image()

# %% [markdown]
# ## Two places
#
# The framework's files are the same in both, bound into the image. Interpreter, C library and
# everything else are the image's own.

# %%
places = {"on the bare node": [sys.executable], "in the image": in_image(CONTAINER, IMAGE)}
for name, words in places.items():
    code = (
        "import os, platform as p; print('Python', p.python_version(), *p.libc_ver(), "
        "os.environ.get('APPTAINER_NAME') or os.environ.get('SINGULARITY_NAME') or '')"
    )
    done = subprocess.run([*words, "-c", code], capture_output=True, text=True)
    print(f"{name:16}  {done.stdout.strip() or done.stderr.strip()}")
print(f"Linux {platform.release()} is the same for both.")

# %% [markdown]
# ## In turns
#
# Both programs start, then each trains for two seconds while the other waits, again and again.

# %%
rates = take_turns(places, rounds=7, seconds=2)
medians = {name: sorted(values)[len(values) // 2] for name, values in rates.items()}

# %% tags=["gallery"]
(axis,) = panels(1, height=2)
draw_bars(axis, medians, xlabel="images/s, median of seven turns")
# %%
for name, values in rates.items():
    print(f"{name:16}  {'  '.join(f'{value:7,.0f}' for value in values)}  images/s")
bare, image = medians.values()
difference = 100 * (image - bare) / bare
spread = 100 * (max(rates["on the bare node"]) - min(rates["on the bare node"])) / bare
print(f"In the image {difference:.2f} % more images/s; a minus means fewer.")
print(f"The turns on the bare node alone differ by {spread:.1f} %.")

# %% [markdown]
# Dell EMC's study of 2018 saw at most 1.9 %, which is within the variation between runs: a
# container is a process like any other, with a different view of the file system.
