# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [datasets, matplotlib, numpy, tokenizers, torch]
# ---
# ruff: noqa: D100, D101, D102, D103

# %% [markdown]
# # Text larger than the memory: datasets and a DataLoader
#
# Reads text files with Hugging Face's `datasets`, which keeps them on disk and maps them into
# memory, makes tokens of them on all cores once, and feeds a network with batches of texts that are
# about equally long. Measures what each of it gains.
#
# | | |
# |---|---|
# | **Data** | 7,200 docstrings of this kernel's packages as JSON lines; then your own files |
# | **Time** | about one minute on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# One GPU, as this is about the way to it. With several, `split_dataset_by_node` of
# `datasets.distributed` gives each rank its part.

# %%
import json
import math
import os
import sys
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded, so nothing waits for the network

import datasets
import matplotlib.pyplot as plt
import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from docstrings import PACKAGES, read_docstrings

datasets.disable_progress_bars()
N_CORES = len(os.sched_getaffinity(0))
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cpu":
    torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

# %% [markdown]
# ## From files to a data set
#
# `load_dataset` converts files once into Arrow tables, in a folder beside this notebook, and maps
# them: only what is read comes into the memory, and the system may drop it again. Processes that
# read the same tables share that memory. For your own, give it `data_files="folder/*.parquet"`, or
# `"csv"` or `"text"` as the first word.

# %%
CACHE = Path("text_cache").absolute()

with Path("texts.jsonl").open("w") as file:
    for row in read_docstrings(n_each=1_200):
        file.write(json.dumps(row) + "\n")

texts = datasets.load_dataset("json", data_files="texts.jsonl", split="train", cache_dir=str(CACHE))
print(texts)
print(f"{texts.data.nbytes / 2**20:.1f} MB of table, mapped from {len(texts.cache_files)} file")
print(texts[0])

# %% [markdown]
# ## Three parts
#
# Docstrings of one file are alike, so a file is in one part alone. `filter` writes no table again,
# only which rows are kept.

# %%
files = sorted(set(texts["file"]))
np.random.default_rng(1).shuffle(files)
of_training = set(files[: int(0.7 * len(files))])
of_validation = set(files[int(0.7 * len(files)) : int(0.85 * len(files))])

train = texts.filter(lambda row: row["file"] in of_training)
validation = texts.filter(lambda row: row["file"] in of_validation)
test = texts.filter(lambda row: row["file"] not in of_training | of_validation)
print(f"{len(train):,} to train, {len(validation):,} to validate, {len(test):,} to test")

# %% [markdown]
# ## Into tokens, once, on all cores
#
# `map` hands batches of rows to a function and keeps the result on disk, under a name that is made
# of the data and the function's code. So the second run of this cell, or of the notebook, only
# opens a file. `num_proc` starts processes, which is worth it if the work takes longer than their
# start.

# %%
tokenizer = ByteLevelBPETokenizer()
tokenizer.train_from_iterator(train["text"], vocab_size=4_000, show_progress=False)


def to_tokens(rows):
    found = [tokenizer.encode(text).ids for text in rows["text"]]
    return {
        "tokens": found,
        "length": [len(tokens) for tokens in found],
        "label": [PACKAGES.index(package) for package in rows["package"]],
    }


def seconds_of(n_processes, is_kept):
    began = time.perf_counter()
    train.map(
        to_tokens,
        batched=True,
        num_proc=n_processes,
        remove_columns=train.column_names,
        load_from_cache_file=is_kept,
    )
    return time.perf_counter() - began


print(f"1 process: {seconds_of(None, False):.2f} s")
if N_CORES > 1:
    print(f"{N_CORES} processes: {seconds_of(N_CORES, False):.2f} s, with their start")
print(f"again, from its file: {seconds_of(None, True):.2f} s")

# %%
train, validation, test = (
    part.map(to_tokens, batched=True, remove_columns=part.column_names).with_format("torch")
    for part in (train, validation, test)
)
print(train)

# %% [markdown]
# ## Batches
#
# Texts of a batch are made equally long with a token that means nothing. A network computes on it
# all the same. If a batch has texts of about the same length, there is less of it: here 20 batches'
# worth of texts in random order are sorted by length, cut into batches, and these are shuffled.

# %%
BATCH_SIZE = 64
PADDING = tokenizer.get_vocab_size()


class BatchesOfALength:
    def __init__(self, lengths, batch_size, n_batches=20):
        self.lengths, self.batch_size = lengths, batch_size
        self.n_together = n_batches * batch_size

    def __iter__(self):
        for part in torch.randperm(len(self.lengths)).split(self.n_together):
            batches = part[self.lengths[part].argsort()].split(self.batch_size)
            for number in torch.randperm(len(batches)):
                yield batches[number].tolist()

    def __len__(self):
        return math.ceil(len(self.lengths) / self.batch_size)


def padded(rows):
    tokens = pad_sequence([row["tokens"] for row in rows], True, PADDING)
    return tokens, torch.stack([row["label"] for row in rows])


torch.manual_seed(1)
lengths = torch.as_tensor(np.array(train["length"]))
loaders = {
    "random": DataLoader(train, BATCH_SIZE, shuffle=True, collate_fn=padded),
    "of a length": DataLoader(
        train, batch_sampler=BatchesOfALength(lengths, BATCH_SIZE), collate_fn=padded
    ),
}

# %% [markdown]
# ## A network, fed in both ways
#
# Both trainings begin with the same weights. Reading is part of the time: if that is most of it,
# add `num_workers` to the loaders, and processes read ahead.


# %%
class Reader(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.tokens = nn.Embedding(PADDING + 1, width, padding_idx=PADDING)
        self.reads = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, len(PACKAGES))

    def forward(self, tokens):
        is_text = (tokens != PADDING).unsqueeze(-1)
        read, _ = self.reads(self.tokens(tokens))
        return self.out((read * is_text).sum(dim=1) / is_text.sum(dim=1))


@torch.inference_mode()
def accuracy_of(model, part):
    model.eval()
    loader = DataLoader(part, 256, collate_fn=padded)
    right = [(model(x.to(device)).argmax(dim=1).cpu() == y).float() for x, y in loader]
    return torch.cat(right).mean().item()


def train_with(loader, epochs=2):
    torch.manual_seed(2)
    model = Reader().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    n_padding = n_tokens = 0
    reading_s, began = 0.0, time.perf_counter()
    for _ in range(epochs):
        model.train()
        asked = time.perf_counter()
        for tokens, labels in loader:
            reading_s += time.perf_counter() - asked
            n_tokens += tokens.numel()
            n_padding += (tokens == PADDING).sum().item()
            optimizer.zero_grad()
            cross_entropy(model(tokens.to(device)), labels.to(device)).backward()
            optimizer.step()
            asked = time.perf_counter()
    seconds = time.perf_counter() - began
    return model, {
        "padding": n_padding / n_tokens,
        "seconds": seconds,
        "reading": reading_s,
        "validation": accuracy_of(model, validation),
    }


results = {}
for name, loader in loaders.items():
    model, results[name] = train_with(loader)
    print(
        "{:12} {padding:5.1%} padding  {seconds:5.1f} s, {reading:4.1f} s of them to read  "
        "validation accuracy {validation:.4f}".format(name, **results[name])
    )

# %%
ratio = results["random"]["seconds"] / results["of a length"]["seconds"]
print(f"Batches of a length: {ratio:.2f} times as fast.")
print(f"Test accuracy: {accuracy_of(model, test):.4f}; guessing reaches {1 / len(PACKAGES):.4f}")

# %% tags=["gallery"]
_, (left, right) = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
left.hist(lengths, bins=40, color="#9aa5b1")
left.set(xlabel="tokens of a text", ylabel="texts")
names = [*results]
computing = [results[name]["seconds"] - results[name]["reading"] for name in names]
right.barh(names, computing, color="#0b6bcb", label="computing")
reading = [results[name]["reading"] for name in names]
right.barh(names, reading, left=computing, color="#e07b00", label="reading")
right.set(xlabel="seconds for 2 epochs")
right.invert_yaxis()
right.legend(frameon=False, fontsize=9)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Larger than the disk
#
# `load_dataset(..., streaming=True)` reads a file while you train, row by row, and keeps nothing.
# Such data have no length and cannot be shuffled as a whole: `shuffle(buffer_size=1_000)` draws
# from the next 1,000 rows. If the files are sorted, shuffle them before.

# %%
stream = datasets.load_dataset("json", data_files="texts.jsonl", split="train", streaming=True)
for row in stream.shuffle(seed=1, buffer_size=1_000).take(3):
    print(f"{row['package']:10}  {row['text'][:60]}")

# %% [markdown]
# `text_cache` holds the tables and what `map` made of them: delete it when you are done.
#
# **Next:** [fine-tune a language model](../../templates/pytorch/hugging_face.ipynb).
