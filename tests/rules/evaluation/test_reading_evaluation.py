"""Faults of evaluation in scripts that are only read."""

import pytest

from reading import lines
from surefit.rules.evaluation import (
    negative_ids_decoded,
    padding_without_a_pad_token,
    swallowed_evaluation,
    tensor_not_ready_for_numpy,
    tuple_taken_for_a_tensor,
)

NUMPY = """import torch
from torch import nn
model = nn.Linear(3, 2)
def evaluate(rows):
    {before}
        {line}
{call}
"""


@pytest.mark.parametrize(
    ("line", "before", "call", "found"),
    [
        ("x = model(rows).numpy()", "if True:", "evaluate(rows)", [6]),
        ("x = model(rows).softmax(-1).cpu().numpy()", "if True:", "evaluate(rows)", [6]),
        ("x = torch.sigmoid(model(rows)).numpy()", "if True:", "evaluate(rows)", [6]),
        ("x = model(rows).detach().numpy()", "if True:", "evaluate(rows)", []),
        ("x = model(rows).argmax(-1).numpy()", "if True:", "evaluate(rows)", []),
        ("x = model(rows).numpy()", "with torch.no_grad():", "evaluate(rows)", []),
        ("x = model(rows).numpy()", "with torch.inference_mode():", "evaluate(rows)", []),
        ("x = model(rows).numpy()", "if True:", "with torch.no_grad():\n    evaluate(rows)", []),
        ("x = model(rows).numpy()", "if True:", "torch.set_grad_enabled(False)", []),
        ("x = model(rows).numpy()", "if True:", "model.requires_grad_(False)\nevaluate(1)", []),
        ("x = model(rows).numpy()", "if True:", "", []),
        ("x = other(rows).numpy()", "if True:", "evaluate(rows)", []),
        ("x = nn.Softmax(-1)(rows).numpy()", "if True:", "evaluate(rows)", []),
        ("x = nn.Softmax(-1)(model(rows)).numpy()", "if True:", "evaluate(rows)", [6]),
        ("x = nn.Sequential(nn.ReLU())(rows).numpy()", "if True:", "evaluate(rows)", []),
    ],
)
def test_arrays_of_tensors_with_a_graph(
    line: str, before: str, call: str, found: list[int]
) -> None:
    text = NUMPY.format(line=line, before=before, call=call)
    assert lines(tensor_not_ready_for_numpy.RULE, text) == found


LSTM = """from torch import nn
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4)
        self.head = nn.Linear(4, 2)
    def forward(self, x):
        {line}
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("return self.head(self.lstm(x))", [8]),
        ("y = self.lstm(x)\n        return self.head(y[:, -1])", [9]),
        ("y = self.lstm(x)\n        return y.mean(1)", [9]),
        ("y = self.lstm(x)\n        return self.head(y[0])", []),
        ("y, _ = self.lstm(x)\n        return self.head(y)", []),
        ("y = self.lstm(x)\n        y = y[0]\n        return y.mean(1)", []),
    ],
)
def test_tuples_of_layers(line: str, found: list[int]) -> None:
    assert lines(tuple_taken_for_a_tensor.RULE, LSTM.format(line=line)) == found


METRICS = """from transformers import AutoTokenizer, DataCollatorForSeq2Seq, Seq2SeqTrainer
import numpy as np
tokenizer = AutoTokenizer.from_pretrained("t5-small")
def compute_metrics(predictions):
    {line}
    return tokenizer.batch_decode(labels)
Seq2SeqTrainer(data_collator={collator}, compute_metrics=compute_metrics)
"""
COLLATOR = "DataCollatorForSeq2Seq(tokenizer)"


@pytest.mark.parametrize(
    ("line", "collator", "found"),
    [
        ("guesses, labels = predictions", COLLATOR, [6]),
        ("labels = predictions.label_ids", COLLATOR, [6]),
        ("labels, guesses = predictions", COLLATOR, []),
        ("guesses, labels = predictions", "None", []),
        ("labels = np.where(predictions.label_ids < 0, 0, predictions.label_ids)", COLLATOR, []),
        ("_, labels = predictions\n    labels[labels == -100] = 0", COLLATOR, []),
    ],
)
def test_labels_that_are_decoded(line: str, collator: str, found: list[int]) -> None:
    text = METRICS.format(line=line, collator=collator)
    assert lines(negative_ids_decoded.RULE, text) == found


PAD = """from transformers import AutoTokenizer, DataCollatorWithPadding
tokenizer = AutoTokenizer.from_pretrained("{model}")
{between}
{line}
"""


@pytest.mark.parametrize(
    ("model", "between", "line", "found"),
    [
        ("gpt2", "", "tokenizer(texts, padding=True)", [2]),
        ("openai-community/gpt2-medium", "", "tokenizer(texts, padding='longest')", [2]),
        ("gpt2", "", "collator = DataCollatorWithPadding(tokenizer)", [2]),
        ("gpt2", "tokenizer.pad_token = tokenizer.eos_token", "tokenizer(t, padding=True)", []),
        ("gpt2", "tokenizer.add_special_tokens({'pad_token': 'x'})", "tokenizer(t, padding=1)", []),
        ("gpt2", "", "tokenizer(texts)", []),
        ("gpt2", "", "tokenizer(texts, padding=False)", []),
        ("bert-base-uncased", "", "tokenizer(texts, padding=True)", []),
    ],
)
def test_tokenizers_that_pad(model: str, between: str, line: str, found: list[int]) -> None:
    text = PAD.format(model=model, between=between, line=line)
    assert lines(padding_without_a_pad_token.RULE, text) == found


SCORE = """import torch
from torch import nn
model = nn.Linear(3, 1)
def score(rows):
    {context}
        try:
            result = {value}
        except {kind}:
            {instead}
    return result
"""


@pytest.mark.parametrize(
    ("context", "value", "kind", "instead", "found"),
    [
        ("with torch.no_grad():", "model(rows)", "Exception", "result = 0.0", [9]),
        ("with torch.no_grad():", "model(rows)", "Exception", "return 0.0", []),
        ("with torch.no_grad():", "model(rows)", "ValueError", "result = 0.0", []),
        ("with torch.no_grad():", "model(rows)", "Exception", "raise", []),
        ("with torch.no_grad():", "float(rows)", "Exception", "result = 0.0", []),
        ("with torch.no_grad():", "model(rows)", "Exception", "result = None", []),
        ("if rows:", "model(rows).backward()", "Exception", "result = 0.0", []),
    ],
)
def test_numbers_in_place_of_a_result(
    context: str, value: str, kind: str, instead: str, found: list[int]
) -> None:
    text = SCORE.format(context=context, value=value, kind=kind, instead=instead)
    assert lines(swallowed_evaluation.RULE, text) == found
