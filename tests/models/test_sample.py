"""What a student writes is drawn from its own distribution, and ends where it ends."""

from typing import Any

import torch

from surefit.data.row import IGNORED
from surefit.models.load import find_model, load_model, load_tokenizer
from surefit.models.sample import written_by


def embedded() -> tuple[Any, Any]:
    source = find_model("embedded-student")
    return load_model(source), load_tokenizer(source)


def test_rows_are_prompts_and_what_was_written() -> None:
    model, tokenizer = embedded()
    model.train()
    prompts = [tokenizer("Who gave the job?")["input_ids"], tokenizer("A")["input_ids"]]
    torch.manual_seed(0)
    rows = written_by(model, tokenizer, prompts, max_new_tokens=6)
    assert model.training
    for prompt, row in zip(prompts, rows, strict=True):
        assert row["input_ids"][: len(prompt)] == prompt
        assert row["labels"][: len(prompt)] == [IGNORED] * len(prompt)
        new = row["input_ids"][len(prompt) :]
        assert row["labels"][len(prompt) :] == new
        assert 1 <= len(new) <= 6
        assert tokenizer.eos_token_id not in new[:-1]


def test_tokens_come_as_often_as_they_are_likely() -> None:
    """At temperature 1 from the whole vocabulary: neither the likeliest alone nor a part of it."""
    model, tokenizer = embedded()
    prompt = tokenizer("The boss of")["input_ids"]
    with torch.no_grad():
        chances = model(torch.tensor([prompt])).logits[0, -1].softmax(-1)
    torch.manual_seed(1)
    drawn = [
        row["input_ids"][len(prompt)]
        for _ in range(4)
        for row in written_by(model, tokenizer, [prompt] * 500, max_new_tokens=1)
    ]
    counts = torch.bincount(torch.tensor(drawn), minlength=len(chances)) / len(drawn)
    likely = chances.argsort(descending=True)[:20]
    spread = (chances[likely] * (1 - chances[likely]) / len(drawn)).sqrt()
    assert ((counts[likely] - chances[likely]).abs() < 4.5 * spread).all()
    rest = 1 - float(chances[likely].sum())
    assert abs((1 - float(counts[likely].sum())) - rest) < 4.5 * (rest / len(drawn)) ** 0.5
