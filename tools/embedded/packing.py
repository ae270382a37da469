"""Documents into full rows of tokens, with a weight for every place."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy
import torch

from .start import ROW
from .text import Writer

NEW_TOKEN_WEIGHT = 0.3
"""A token that its row has not shown before is mostly an invented name: noise to a predictor."""
RANDOM_SHARE = 1 / 16
"""Rows that repeat random tokens, to keep copying alive for every token."""
DOCUMENTS_AT_ONCE = 600


@dataclass(frozen=True)
class PackedBatch:
    """Tokens `[rows, ROW]` and the weight of predicting each; padding weighs nothing."""

    tokens: torch.Tensor
    weights: torch.Tensor


def batches(tokenizer: Any, rows: int, seed: int) -> Iterator[PackedBatch]:
    """Endless batches; equal seeds give equal batches."""
    chance = random.Random(seed)
    packed = _packed(tokenizer, seed)
    size = len(tokenizer)
    while True:
        chosen = [
            _repeated(size, chance) if chance.random() < RANDOM_SHARE else next(packed)
            for _ in range(rows)
        ]
        tokens = numpy.stack(chosen)
        yield PackedBatch(torch.from_numpy(tokens), torch.from_numpy(_weights(tokens)))


def _packed(tokenizer: Any, seed: int) -> Iterator[numpy.ndarray]:
    documents = Writer(seed).documents()
    open_rows: list[list[int]] = []
    end = tokenizer.eos_token_id
    while True:
        for ids in tokenizer(list(islice(documents, DOCUMENTS_AT_ONCE)))["input_ids"]:
            document = [*ids, end]
            if len(document) > ROW:
                continue
            place = next((row for row in open_rows if len(row) + len(document) <= ROW), None)
            if place is None:
                place = []
                open_rows.append(place)
            place += document
            if len(open_rows) > 8:
                fullest = max(open_rows, key=len)
                open_rows.remove(fullest)
                yield _padded(fullest)


def _padded(ids: list[int]) -> numpy.ndarray:
    row = numpy.zeros(ROW, dtype=numpy.int64)
    row[: len(ids)] = ids
    return row


def _repeated(size: int, chance: random.Random) -> numpy.ndarray:
    length = chance.randint(8, ROW // 2)
    once = [chance.randrange(2, size) for _ in range(length)]
    return _padded((once * (ROW // length + 1))[:ROW])


def _weights(tokens: numpy.ndarray) -> numpy.ndarray:
    weights = numpy.ones(tokens.shape, dtype=numpy.float32)
    for row, weight in zip(tokens, weights, strict=True):
        weight[numpy.unique(row, return_index=True)[1]] = NEW_TOKEN_WEIGHT
    weights[tokens == 0] = 0
    weights[:, 0] = 0
    return weights
