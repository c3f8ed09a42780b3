"""A transformer of BERT base's size that puts texts into classes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.lab.gpu.models import N_CLASSES, N_WORDS

N_CHANNELS = 768
N_HEADS = 12
N_BLOCKS = 12
N_POSITIONS = 512


class _Block(nn.Module):
    def __init__(self, n: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.before_attention, self.before_layers = nn.LayerNorm(n), nn.LayerNorm(n)
        self.attention_in, self.attention_out = nn.Linear(n, 3 * n), nn.Linear(n, n)
        self.layers = nn.Sequential(nn.Linear(n, 4 * n), nn.GELU(), nn.Linear(4 * n, n))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self._attend(self.before_attention(x))
        return x + self.layers(self.before_layers(x))

    def _attend(self, x: Tensor) -> Tensor:
        heads = self.attention_in(x).unflatten(-1, (3, self.n_heads, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value)
        return self.attention_out(seen.transpose(1, 2).flatten(2))


class _Encoder(nn.Module):
    def __init__(self, n: int, n_heads: int, n_blocks: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(N_WORDS, n), nn.Embedding(N_POSITIONS, n)
        self.blocks = nn.Sequential(*(_Block(n, n_heads) for _ in range(n_blocks)))
        self.norm = nn.LayerNorm(n)
        self.head = nn.Linear(n, N_CLASSES)

    def forward(self, texts: Tensor) -> Tensor:
        places = torch.arange(texts.shape[1], device=texts.device)
        x = self.words(texts) + self.places(places)
        return self.head(self.norm(self.blocks(x)).mean(dim=1))


def transformer(width: float = 1.0) -> nn.Module:
    n_heads = max(1, round(N_HEADS * width))
    n_blocks = max(1, round(N_BLOCKS * width))
    return _Encoder(n_heads * N_CHANNELS // N_HEADS, n_heads, n_blocks)
