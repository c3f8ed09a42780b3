# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [accelerate, matplotlib, numpy, peft, tokenizers, torch, transformers]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Fine-tune a language model with Hugging Face: Trainer, and LoRA with PEFT
#
# Trains a small language model with `Trainer`, saves it as models are shared, and fine-tunes it for
# another kind of text in two ways: all weights, and LoRA. Then your model, or one that others have
# trained, takes the place of the small one. Nothing is downloaded.
#
# | | |
# |---|---|
# | **Data** | 470 KB of text that Python ships, and 800 docstrings of NumPy and SciPy |
# | **Time** | about two minutes on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# One GPU: `Trainer` would share each batch among all that it sees in one process, which is slow. So
# the next cell shows it the first alone.

# %%
import os

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded, so nothing waits for the network

import math
import sys
import warnings
from itertools import chain
from pathlib import Path
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np
import torch
from peft import LoraConfig, PeftModel, TaskType, get_peft_model
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from docstrings import read_docstrings

logging.set_verbosity_error()
logging.disable_progress_bar()
warnings.filterwarnings("ignore", category=FutureWarning)  # of PEFT to Transformers
IS_ON_CPU = not torch.cuda.is_available()
if IS_ON_CPU:
    torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

# %% [markdown]
# ## Two kinds of text
#
# The reference of the Python language is what the model learns first. Docstrings are what it is
# then fine-tuned for. Those of one file are alike, so a file is in one part alone: to train, to
# validate or to test. For your own: `[path.read_text() for path in Path("texts").glob("*.txt")]`.

# %%
rows = read_docstrings(("numpy", "scipy"), n_each=400)
files = sorted({row["file"] for row in rows})
np.random.default_rng(1).shuffle(files)
parts = np.split(np.array(files), [int(0.7 * len(files)), int(0.85 * len(files))])
docstrings = [[row["text"] for row in rows if row["file"] in part] for part in map(set, parts)]

reference = [topics[name] for name in sorted(topics)]
python = [reference[number::10] for number in range(10)]
python = [list(chain(*python[1:])), python[0]]
print("about Python:", *(f"{len(part)} texts" for part in python))
print("docstrings:  ", *(f"{len(part)} texts" for part in docstrings))
print(docstrings[0][0])

# %% [markdown]
# ## A tokenizer and a small model
#
# The configuration is that of Llama, with ten thousand times fewer weights. A model of others has
# brought both along: leave out these cells, and put its folder into `BASE` below.

# %%
raw = ByteLevelBPETokenizer()
raw.train_from_iterator(python[0], vocab_size=1_000, special_tokens=["<end>"], show_progress=False)
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=raw._tokenizer, **dict.fromkeys(("eos_token", "pad_token"), "<end>")
)
config = LlamaConfig(
    vocab_size=len(tokenizer),
    hidden_size=96,
    intermediate_size=256,
    num_hidden_layers=3,
    num_attention_heads=4,
    max_position_embeddings=256,
    tie_word_embeddings=True,
    pad_token_id=tokenizer.pad_token_id,
    eos_token_id=tokenizer.eos_token_id,
)
set_seed(1)
model = AutoModelForCausalLM.from_config(config)
print(f"{model.num_parameters():,} weights")

# %% [markdown]
# ## Into blocks
#
# The texts follow each other, with a token between them, and are cut into blocks of equal length.
# So no block has to be filled up. `labels` are the tokens themselves: the model shifts them by one.

# %%
BLOCK = 64  # tokens that the model sees at once


def blocks_of(texts):
    ended = ([*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in texts)
    tokens = list(chain.from_iterable(ended))
    starts = range(0, len(tokens) - BLOCK, BLOCK)
    return [{"input_ids": (cut := tokens[at : at + BLOCK]), "labels": cut} for at in starts]


python_train, python_validation = map(blocks_of, python)
train, validation, test = map(blocks_of, docstrings)
print(f"{len(python_train):,} blocks about Python, {len(train):,} of docstrings to train")

# %% [markdown]
# ## Trainer
#
# It brings the loop: batches, schedule, mixed precision, checkpoints, validation, logs. You say
# what, in `TrainingArguments`. `bf16=True` is faster on GPUs from A100 on. `report_to` can also
# name `"tensorboard"` or `"mlflow"`, and `resume_from_checkpoint=True` in `train()` continues a
# training that was interrupted.


# %%
def make_trainer(model, train, validation, epochs, rate):
    trainer = Trainer(
        model,
        TrainingArguments(
            "checkpoints",
            num_train_epochs=epochs,
            learning_rate=rate,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=64,
            lr_scheduler_type="cosine",
            warmup_steps=20,
            logging_strategy="epoch",
            eval_strategy="epoch",
            save_strategy="no",
            report_to="none",
            use_cpu=IS_ON_CPU,
            dataloader_pin_memory=not IS_ON_CPU,
            seed=1,
        ),
        train_dataset=train,
        eval_dataset=validation,
    )
    trainer.remove_callback(PrinterCallback)  # its lines are summed up below
    return trainer


def curve_of(trainer):
    """Return the steps at which it validated, and the losses."""
    log = [entry for entry in trainer.state.log_history if "eval_loss" in entry]
    return [entry["step"] for entry in log], [entry["eval_loss"] for entry in log]


trainer = make_trainer(model, python_train, python_validation, epochs=3, rate=4e-3)
trainer.train()
first_curve = curve_of(trainer)
for step, loss in zip(*first_curve, strict=True):
    print(f"Step {step}  validation loss {loss:.3f}, perplexity {math.exp(loss):.0f}")

# %%
BASE = Path("base_model")

trainer.save_model(str(BASE))
tokenizer.save_pretrained(BASE)
print(", ".join(sorted(path.name for path in BASE.iterdir())))

# %% [markdown]
# ## From here on it is like any model
#
# `from_pretrained` reads a folder, or downloads a model by its name on the Hugging Face Hub. The
# nodes must then reach the internet, and `HF_HUB_OFFLINE` must not be set.
#
# *Perplexity* is the number of tokens between which the model hesitates. It knows the reference,
# and docstrings only as far as they are alike.

# %%
tokenizer = AutoTokenizer.from_pretrained(BASE)


def load_base():
    return AutoModelForCausalLM.from_pretrained(BASE)


def perplexity_of(model, blocks):
    trainer = make_trainer(model, train, blocks, epochs=1, rate=0)
    return math.exp(trainer.evaluate()["eval_loss"])


def measure(model):
    return perplexity_of(model, python_validation), perplexity_of(model, validation)


found = {"before": measure(load_base())}
print("about Python {:.0f}, docstrings {:.0f}".format(*found["before"]))

# %% [markdown]
# ## LoRA
#
# *Low-rank adaptation* keeps the weights as they are, and adds two narrow matrices to each of those
# that `target_modules` names. Only they are trained: the optimizer needs memory for these few, and
# the result is a small file.

# %%
lora = LoraConfig(
    task_type=TaskType.CAUSAL_LM,
    r=8,
    lora_alpha=16,
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
)
set_seed(2)
adapted = get_peft_model(load_base(), lora)
adapted.print_trainable_parameters()
trainer = make_trainer(adapted, train, validation, epochs=3, rate=1e-2)
trainer.train()
lora_curve = curve_of(trainer)
found["LoRA"] = measure(adapted)
with adapted.disable_adapter():
    print(f"Switched off, the old model is back: {measure(adapted) == found['before']}")

# %% [markdown]
# ## All weights
#
# The same steps, with a smaller rate, as usual for weights that know something.

# %%
whole = load_base()
trainer = make_trainer(whole, train, validation, epochs=3, rate=2e-3)
trainer.train()
whole_curve = curve_of(trainer)
found["all weights"] = measure(whole)

print("perplexity      about Python   docstrings")
for name, (about_python, of_docstrings) in found.items():
    print(f"{name:12}    {about_python:12.0f}   {of_docstrings:10.0f}")

# %% tags=["gallery"]
_, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.plot(*first_curve, marker=".", color="#9aa5b1", label="first training, about Python")
begins = first_curve[0][-1]
for (steps, losses), colour, label in (
    (lora_curve, "#0b6bcb", "LoRA, docstrings"),
    (whole_curve, "#e07b00", "all weights, docstrings"),
):
    axis.plot(
        [begins, *(begins + step for step in steps)],
        [math.log(found["before"][1]), *losses],
        marker=".",
        color=colour,
        label=label,
    )
axis.set(xlabel="step", ylabel="validation loss")
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Keep the adapter, test once
#
# The adapter is a small folder, which you can share without the model. Whoever has the model puts
# both together. `merge_and_unload()` makes one model of them, as fast as before.

# %%
adapted.save_pretrained("adapter")
adapter_kb, base_kb = (
    sum(path.stat().st_size for path in folder.glob("*.safetensors")) / 1e3
    for folder in (Path("adapter"), BASE)
)
print(f"adapter {adapter_kb:,.0f} KB, model {base_kb:,.0f} KB")

together = PeftModel.from_pretrained(load_base(), "adapter").merge_and_unload()
print(f"Perplexity of test docstrings: {perplexity_of(together, test):.0f}")

# %% [markdown]
# **Next:** [the parts of a transformer and of LoRA](../../templates/pytorch/transformer.ipynb),
# [text larger than the memory](../../templates/pytorch/text_data.ipynb).
