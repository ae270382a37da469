"""Padding by masks, ids and labels that a frame holds; what only looks like it."""

import sys
from typing import Any

import pytest
import torch

from surefit.observe.inside.training.padded_places import Padded, padded_places

IDS = torch.tensor([[5, 6, 7, 8, 9, 3], [5, 6, 7, 0, 0, 0], [4, 4, 6, 7, 0, 0]])
MASK = (IDS != 0).long()
LEFT = IDS.flip(-1)
PLACES = (3, 6)


def told(shape: tuple[int, ...], **held: Any) -> Padded | None:
    """In a frame that holds these and nothing else."""
    names = ", ".join(held)
    source = f"def holds({names}):\n    return ask(shape, frame(0))\n"
    space: dict[str, Any] = {"ask": padded_places, "frame": sys._getframe, "shape": shape}
    exec(compile(source, __file__, "exec"), space)
    found: Padded | None = space["holds"](**held)
    return found


@pytest.mark.parametrize("kind", [torch.long, torch.bool, torch.float32])
@pytest.mark.parametrize("shape", [(3, 6), (18,)])
def test_a_mask_of_lengths(kind: torch.dtype, shape: tuple[int, ...]) -> None:
    found = told(shape, mask=MASK.to(kind))
    assert found is not None
    assert found.places.sum() == 5
    assert (found.held.text, found.padding_is, found.shifted) == ("mask", 0, False)


def test_a_place_less_in_each_row() -> None:
    found = told((3, 5), mask=MASK)
    assert found is not None
    assert found.shifted
    assert found.places.tolist() == (MASK[:, 1:] == 0).reshape(-1).tolist()


def test_in_a_batch() -> None:
    found = told(PLACES, batch={"attention_mask": MASK, "input_ids": IDS})
    assert found is not None
    assert found.held.text == 'batch["attention_mask"]'


def test_padding_before_the_text_needs_ids() -> None:
    mask = (LEFT != 0).long()
    found = told(PLACES, ids=LEFT, mask=mask)
    assert found is not None
    assert found.places.sum() == 5
    assert told(PLACES, mask=mask) is None  # could be the answers behind prompts


def test_a_mask_that_marks_padding() -> None:
    found = told(PLACES, ids=IDS, padding=IDS == 0)
    assert found is not None
    assert found.padding_is == 1
    assert found.places.sum() == 5


def test_labels_need_ids() -> None:
    labels = IDS.masked_fill(IDS == 0, -100)
    labels[:, 0] = -100  # of a prompt
    found = told(PLACES, ids=IDS, labels=labels)
    assert found is not None
    assert found.padding_is == -100
    assert found.places.sum() == 5
    assert told(PLACES, labels=labels) is None


@pytest.mark.parametrize(
    "held",
    [
        {},
        {"mask": torch.ones(3, 6)},
        {"mask": MASK.double() * 2},
        {"weights": MASK},  # numbers without the name of a mask
        {"mask": torch.tensor([[0, 1, 1, 1, 0, 0]] * 3)},
        {"mask": torch.ones(6, 6).tril()},
        {"ids": IDS},
        {"pad_mask": MASK},  # ones or zeros: the name leaves it open
        {"mask": MASK[:2]},
    ],
    ids=str,
)
def test_nothing_is_told(held: dict[str, Any]) -> None:
    assert told(PLACES, **held) is None


def test_a_causal_mask_is_of_no_lengths() -> None:
    assert told((6, 6), mask=torch.ones(6, 6).tril()) is None


def test_places_that_a_mask_has_picked() -> None:
    """As many as there would be with a place less in each row."""
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0, 0]])
    assert told((15,), mask=mask) is None
    assert told((18,), mask=mask) is not None


def test_two_places_are_a_pair() -> None:
    assert told((3, 2), mask=torch.tensor([[1, 1], [1, 0], [1, 1]])) is None
