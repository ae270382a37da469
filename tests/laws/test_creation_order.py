"""Two lines are followed out to statements of one block."""

from surefit.doctor.findings import Place
from surefit.laws.creation_order import both_in_one_block
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
