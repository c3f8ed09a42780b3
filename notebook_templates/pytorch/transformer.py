# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, scikit-learn, tokenizers, torch]
# ---
# ruff: noqa: D100, D101, D102, D103

# %% [markdown]
# # A small language model: train a transformer, fine-tune it with LoRA
#
# Trains a transformer on the reference of the Python language, as a language model: given some
# words, it predicts how they continue. Then it adapts the model to another kind of text with LoRA,
# which trains a few per cent of the weights and leaves the rest as they are. Large models are made
# and adapted in the same way.
#
# | | |
# |---|---|
# | **Data** | 470 KB of text that Python ships, and 40 KB that scikit-learn ships |
# | **Time** | about 45 seconds on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import math
import time
from pathlib import Path
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import sklearn
import torch
from tokenizers import ByteLevelBPETokenizer
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cpu":
    torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

# %% [markdown]
# ## The text
#
# For your own: `text = Path("mine.txt").read_text()`.

# %%
text = "\n\n".join(topics[name] for name in sorted(topics))
folder = Path(sklearn.__file__).parent / "datasets/descr"
other_text = "\n\n".join(path.read_text() for path in sorted(folder.glob("*.rst")))
print(f"{len(text) / 1e3:,.0f} KB about Python, {len(other_text) / 1e3:,.0f} KB about data sets")
print(text[60_000:60_300])

# %% [markdown]
# ## Into tokens
#
# A tokenizer cuts text into pieces that it has seen often: frequent words become one token, rare
# ones several. It is trained here, in a second. The last tenth of each text is for validation.

# %%
N_TOKENS = 1_000
CONTEXT = 64  # tokens that the model sees at once

tokenizer = ByteLevelBPETokenizer()
tokenizer.train_from_iterator([text], vocab_size=N_TOKENS, show_progress=False)
print([tokenizer.decode([token]) for token in tokenizer.encode("The import statement").ids])


def divide(text):
    tokens = torch.tensor(tokenizer.encode(text).ids)
    n_training = int(0.9 * len(tokens))
    return tokens[:n_training].to(device), tokens[n_training:].to(device)


train_tokens, validation_tokens = divide(text)
print(f"{len(train_tokens):,} tokens to train, {len(validation_tokens):,} to validate")

# %% [markdown]
# ## The transformer
#
# Each block has two parts, and a way past each of them (`x + ...`):
#
# * **attention**: each token looks at the earlier ones and takes from them what it needs;
#   `is_causal` hides the later ones, which are to be predicted;
# * a small **network** that works on each token alone.

# %%
WIDTH, N_HEADS, N_BLOCKS = 96, 4, 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.network_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.network = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        n, length, _ = x.shape
        heads = self.query_key_value(self.attention_norm(x))
        heads = heads.view(n, length, 3, N_HEADS, WIDTH // N_HEADS).permute(2, 0, 3, 1, 4)
        found = scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(found.transpose(1, 2).reshape(n, length, WIDTH))
        return x + self.network(self.network_norm(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(N_TOKENS, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(N_BLOCKS)))
        self.norm = nn.LayerNorm(WIDTH)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.places.weight, std=0.02)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.blocks(self.tokens(tokens) + self.places(places)))
        return x @ self.tokens.weight.T  # a score for each token that may come next


torch.manual_seed(1)
model = Transformer().to(device)
print(f"{sum(parameter.numel() for parameter in model.parameters()):,} weights")

# %% [markdown]
# ## Training
#
# A batch is 16 pieces from random places of the text; the target of each token is the next one. The
# loss is the mean surprise: log(1,000) = 6.9 is guessing. *Perplexity*, its exponential, is the
# number of tokens between which the model hesitates.

# %%
BATCH_SIZE = 16


def batch_of(tokens):
    starts = torch.randint(len(tokens) - CONTEXT - 1, (BATCH_SIZE, 1), device=device)
    places = starts + torch.arange(CONTEXT + 1, device=device)
    pieces = tokens[places]
    return pieces[:, :-1], pieces[:, 1:]


def loss_of(model, tokens):
    inputs, targets = batch_of(tokens)
    return cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


@torch.no_grad()
def validate(model, tokens):
    torch.manual_seed(2)  # always the same pieces
    return torch.stack([loss_of(model, tokens) for _ in range(10)]).mean().item()


def train(model, tokens, validation, n_steps, rate):
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=n_steps)
    curve, began = [(0, validate(model, validation))], time.perf_counter()
    torch.manual_seed(3)
    for step in range(1, n_steps + 1):
        optimizer.zero_grad()
        loss_of(model, tokens).backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        if step % (n_steps // 6) == 0:
            state = torch.random.get_rng_state()
            curve.append((step, validate(model, validation)))
            torch.random.set_rng_state(state)
            rate_now = step * BATCH_SIZE * CONTEXT / (time.perf_counter() - began)
            print(
                f"Step {step}  validation loss {curve[-1][1]:.3f}, "
                f"perplexity {math.exp(curve[-1][1]):.0f}, {rate_now:,.0f} tokens/s",
                flush=True,
            )
    return curve


curve = train(model, train_tokens, validation_tokens, n_steps=480, rate=4e-3)

# %% [markdown]
# ## What it writes
#
# One token after the other, each drawn by its probability. It has learned words and the look of the
# reference in a minute; sense takes larger models and more text.


# %%
@torch.no_grad()
def write(model, beginning, n_tokens=60):
    torch.manual_seed(4)
    tokens = torch.tensor([tokenizer.encode(beginning).ids], device=device)
    for _ in range(n_tokens):
        scores = model(tokens[:, -CONTEXT:])[:, -1] / 0.7  # below 1: bolder, above: wilder
        tokens = torch.cat([tokens, torch.multinomial(scores.softmax(dim=-1), 1)], dim=1)
    return tokenizer.decode(tokens[0].tolist())


print(write(model, "The import statement"))

# %% [markdown]
# ## Another kind of text: LoRA
#
# The descriptions of scikit-learn's data sets use other words. *Low-rank adaptation* keeps each
# weight matrix as it is and adds the product of two narrow ones, which alone are trained:
#
#     before: y = W x        with LoRA: y = W x + B A x
#
# With a width of 96 and a rank of 4, A and B have a twelfth of the numbers of a square W, or less.
# So the optimizer needs less memory, the result is a small file, and the old model is still there:
# without B A it is what it was.


# %%
class LowRank(nn.Module):
    def __init__(self, layer, rank=4, scale=4.0):
        super().__init__()
        self.layer, self.scale = layer, scale
        self.a = nn.Parameter(torch.randn(rank, layer.in_features) / math.sqrt(layer.in_features))
        self.b = nn.Parameter(torch.zeros(layer.out_features, rank))  # so that it begins as W

    def forward(self, x):
        return self.layer(x) + self.scale * (x @ self.a.T) @ self.b.T


def add_adapters(model):
    for parameter in model.parameters():
        parameter.requires_grad = False
    for block in model.blocks:
        block.query_key_value = LowRank(block.query_key_value)
        block.out = LowRank(block.out)
        block.network[0] = LowRank(block.network[0])
        block.network[2] = LowRank(block.network[2])
    return model.to(device)


def set_scale(model, scale):
    for module in model.modules():
        if isinstance(module, LowRank):
            module.scale = scale


other_train, other_validation = divide(other_text)
before = {
    "Python": validate(model, validation_tokens),
    "data sets": validate(model, other_validation),
}
add_adapters(model)
n_trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
n_all = sum(p.numel() for p in model.parameters())
print(f"{n_trained:,} of {n_all:,} weights are trained, {n_trained / n_all:.1%}")
adapted_curve = train(model, other_train, other_validation, n_steps=180, rate=1e-2)

# %%
after = {
    "Python": validate(model, validation_tokens),
    "data sets": validate(model, other_validation),
}
set_scale(model, 0)
without = validate(model, validation_tokens)
set_scale(model, 4.0)
print("perplexity      before   with LoRA")
for name in before:
    print(f"{name:12}  {math.exp(before[name]):8.0f}  {math.exp(after[name]):10.0f}")
print(f"Switched off, LoRA leaves the old model: {math.exp(without):.0f} about Python.")

# %% tags=["gallery"]
_, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.plot(*zip(*curve, strict=True), marker=".", color="#9aa5b1", label="training, Python")
steps, losses = zip(*adapted_curve, strict=True)
steps = [curve[-1][0] + step for step in steps]
axis.plot(steps, losses, marker=".", color="#0b6bcb", label="LoRA, data sets")
axis.set(xlabel="step", ylabel="validation loss")
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Save the adapter alone

# %%
adapter = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
torch.save(adapter, "adapter.pt")
print(f"adapter.pt, {Path('adapter.pt').stat().st_size / 1e3:,.0f} KB")

# %% [markdown]
# **For a model of others**, this kernel has `transformers` and `peft`, which do the same in three
# lines: `AutoModelForCausalLM.from_pretrained(...)`, `LoraConfig(r=8, target_modules=...)`,
# `get_peft_model(model, config)`. The weights are downloaded once into your home, if your site lets
# the nodes reach the internet; large ones belong on the shared storage: set `HF_HOME` to a folder
# there.
