"""Sorts letters into three trays with a decoder; short ones are filled up with id 0."""

import torch
from transformers import GPT2Config, GPT2ForSequenceClassification

WORDS, TRAYS = 40, 3


def filled_up(letters):
    longest = max(len(letter) for letter in letters)
    ids = torch.zeros(len(letters), longest, dtype=torch.long)
    for row, letter in zip(ids, letters, strict=True):
        row[: len(letter)] = torch.tensor(letter)
    return {"input_ids": ids, "attention_mask": (ids != 0).long()}


def main():
    torch.manual_seed(0)
    sizes = {"n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
    config = GPT2Config(vocab_size=WORDS, num_labels=TRAYS, **sizes)
    model = GPT2ForSequenceClassification(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for first in range(1, 13, 4):
        letters = [list(range(size, 2 * size + 1)) for size in range(first, first + 4)]
        scored = model(**filled_up(letters), labels=torch.arange(4) % TRAYS)
        optimizer.zero_grad()
        scored.loss.backward()
        optimizer.step()
    print(f"loss {scored.loss.item():.3f}")


main()
