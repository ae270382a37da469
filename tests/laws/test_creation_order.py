"""Two lines are followed out to statements of one block."""

from textwrap import dedent

import pytest

from surefit.doctor.findings import Place
from surefit.laws.training.creation_order import both_in_one_block, put_in_order
from surefit.source.edits import patched
from surefit.source.reading import Source

TEXT = """\
import torch
from torch import nn


class Grown(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.extra = nn.Linear(4, 4)


def optimizer_for(model):
    return torch.optim.Adam(model.parameters())


def prepare(model):
    optimizer = optimizer_for(model)
    model.base = Grown(model.base)
    return optimizer


def twice(model):
    optimizer = optimizer_for(model)
    model.base = Grown(model.base)
    model.base = Grown(model.base)
"""


def lines(text: str, first: int, then: int) -> tuple[int, int] | None:
    found = both_in_one_block(
        Source("train.py", text), Place("train.py", first), Place("train.py", then)
    )
    return (found[0].lineno, found[1].lineno) if found else None


def test_functions_and_classes_are_followed_to_who_calls_them() -> None:
    once = TEXT[: TEXT.index("def twice")]
    assert lines(once, 13, 9) == (17, 18)


def test_several_pairs_are_none() -> None:
    assert lines(TEXT, 13, 9) is None


def test_the_order_must_be_that_of_the_run() -> None:
    once = TEXT[: TEXT.index("def twice")]
    assert lines(once, 9, 13) is None


IN_ORDER = """\
model.freeze()
model.head = Linear(8, 6)
trainable = [p for p in model.parameters()]
optimizer = Adam(trainable)
schedule = Cosine(optimizer)
train(model, optimizer, schedule)
"""


@pytest.mark.parametrize(
    "text",
    [
        """\
        model.freeze()
        trainable = [p for p in model.parameters()]
        optimizer = Adam(trainable)
        model.head = Linear(8, 6)
        schedule = Cosine(optimizer)
        train(model, optimizer, schedule)
        """,
        """\
        model.freeze()
        trainable = [p for p in model.parameters()]
        optimizer = Adam(trainable)
        schedule = Cosine(optimizer)
        model.head = Linear(8, 6)
        train(model, optimizer, schedule)
        """,
    ],
)
def test_what_the_optimizer_was_given_is_collected_anew(text: str) -> None:
    source = Source("train.py", dedent(text))
    statements = source.tree.body
    optimizer = next(known for known in statements if "Adam" in source.segment(known))
    layer = next(known for known in statements if "Linear" in source.segment(known))
    edit = put_in_order(source, optimizer, layer)
    assert edit is not None
    assert patched(edit, source.text) == IN_ORDER


def test_what_is_run_in_between_stays() -> None:
    text = "optimizer = Adam(model.parameters())\nwarm_up(optimizer)\nmodel.head = Linear(8, 6)\n"
    source = Source("train.py", text)
    optimizer, _, layer = source.tree.body
    assert put_in_order(source, optimizer, layer) is None
