"""Masks of fewer rows than what they hide, on hand-made recordings: the order of stacking."""

from dataclasses import replace
from textwrap import dedent

import pytest

from recorded_operations import found_by
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Crash,
    Frame,
    Layer,
    Operation,
    Process,
    Value,
)
from surefit.rules.batch.mask_without_the_stacked_rows import RULE
from surefit.source.edits import patched

TEXT = dedent(
    """\
    class Attention:
        def fold(self, x):
            return torch.cat(x.chunk(self.heads, dim=-1))
        def forward(self, x, empty):
            scores = self.fold(x) @ self.fold(x).mT
            hidden = future | empty[:, None, :]
            scores = scores.masked_fill(hidden, -1e9)
    """
)
SCORES = Value("scores", "Tensor", 1, shape=(32, 20, 20))
HIDDEN = Value("hidden", "Tensor", 2, shape=(8, 20, 20), dtype="bool")
FRAME = Frame(
    Place("train.py", 7),
    "Attention.forward",
    own=True,
    line="scores = scores.masked_fill(hidden, -1e9)",
    expression="scores.masked_fill(hidden, -1e9)",
    values=(SCORES, HIDDEN),
    layer=Layer("Attention", "attend", "Net", own=True, sizes={"heads": 4}),
    arguments=("self", "x", "empty"),
)
CRASH = Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: sizes", (FRAME,))


def made(
    serial: int, name: str, shape: tuple[int, ...], *takes: int, numbers: tuple[float, ...] = ()
) -> Operation:
    place = Place("train.py", 3)
    return Operation(serial, name, place, place, True, shape, "float32", True, takes, numbers)


PRODUCT = made(20, "matmul", (32, 20, 20), 19, 19)
CHUNKS = tuple(made(serial, "chunk", (8, 20, 8), 2) for serial in (10, 11, 12, 13))
JOINED = (PRODUCT, made(19, "cat", (32, 20, 8), 10, 11, 12, 13), *CHUNKS)


def found(story: tuple[Operation, ...], crash: Crash = CRASH, text: str = TEXT) -> list[Finding]:
    return found_by(RULE, text, crash, stories={(0, "scores"): story})


def test_the_mask_is_repeated_where_it_is_made_as_the_heads_were_joined() -> None:
    (finding,) = found(JOINED)
    assert finding.place.line == 6
    assert "32 = 8 × 4 (`self.heads`)" in finding.headline
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "(future | empty[:, None, :]).repeat(self.heads, 1, 1)" in patched(fix.edit, TEXT)
    assert fix.must == ValuesAt(Place("train.py", 7), (Wanted("hidden", (32, 20, 20)),))


@pytest.mark.parametrize(
    ("before", "more"),
    [
        ((8, 4, 20, 8), ".repeat_interleave(self.heads, 0)"),
        ((4, 8, 20, 8), ".repeat(self.heads, 1, 1)"),
    ],
)
def test_a_reshape_tells_the_order_by_its_axes(before: tuple[int, ...], more: str) -> None:
    (finding,) = found((PRODUCT, made(19, "reshape", (32, 20, 8), 10), made(10, "permute", before)))
    assert more in finding.fixes[0].text


@pytest.mark.parametrize(
    ("name", "numbers", "more"),
    [
        ("transpose", (1, 2), "repeat_interleave"),
        ("permute", (0, 2, 1, 3), "repeat_interleave"),
        ("permute", (2, 0, 1, 3), ".repeat("),
        ("view", (4, 4, 20, 8), None),
    ],
)
def test_as_many_heads_as_rows(name: str, numbers: tuple[float, ...], more: str | None) -> None:
    scores, hidden = replace(SCORES, shape=(16, 20, 20)), replace(HIDDEN, shape=(4, 20, 20))
    crash = replace(CRASH, frames=(replace(FRAME, values=(scores, hidden)),))
    story = (
        made(20, "matmul", (16, 20, 20), 19),
        made(19, "reshape", (16, 20, 8), 10),
        made(10, name, (4, 4, 20, 8), 2, numbers=numbers),
    )
    assert [more in one.fixes[0].text for one in found(story, crash) if more] == [True] * bool(more)


def test_a_mask_that_came_as_an_argument_is_repeated_where_it_is_used() -> None:
    text = TEXT.replace("hidden = future | empty[:, None, :]", "pass").replace("empty)", "hidden)")
    (finding,) = found(JOINED, text=text)
    assert finding.place.line == 7
    must = finding.fixes[0].must
    assert must == ValuesAt(Place("train.py", 7), (Wanted("scores", (32, None, None)),), after=True)


def test_look_alikes_are_silent() -> None:
    other = replace(HIDDEN, shape=(8, 19, 20))
    assert found(JOINED, replace(CRASH, frames=(replace(FRAME, values=(SCORES, other)),))) == []
    uneven = replace(HIDDEN, shape=(5, 20, 20))
    assert found(JOINED, replace(CRASH, frames=(replace(FRAME, values=(SCORES, uneven)),))) == []
    scrambled = (PRODUCT, made(19, "view", (32, 20, 8), 10), made(10, "linear", (8, 20, 32)))
    assert found(scrambled) == [], "a reshape that mixes rows has no order"
    assert found((PRODUCT,)) == []


INSIDE = Frame(
    Place("torch/nn/functional.py", 6000),
    "multi_head_attention_forward",
    own=False,
    values=(
        Value("attn_mask", "Tensor", 9, shape=(8, 20, 20)),
        Value("num_heads", "int", 8, scalar=4),
        Value("bsz", "int", 7, scalar=8),
    ),
)


def test_torchs_own_attention_wants_the_heads_of_a_row_together() -> None:
    (finding,) = found((), replace(CRASH, frames=(FRAME, INSIDE)))
    assert "hidden.repeat_interleave(4, 0)" in finding.fixes[0].text
    one_head = replace(INSIDE, values=(INSIDE.values[0], Value("num_heads", "int", 8, scalar=1)))
    assert found((), replace(CRASH, frames=(FRAME, one_head))) == []
