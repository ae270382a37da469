"""The loss is the model's own, by tokens, however its rows are put into batches."""

from itertools import pairwise
from typing import Any

import pytest
import torch

from surefit.data.batches import Batch, PadRows
from surefit.data.tokens import IGNORED
from surefit.losses.next_token import NextTokenLoss, supervised_places

Rows = list[dict[str, list[int]]]


def some_rows() -> Rows:
    """Unequal lengths, and shares of supervised tokens that are more unequal still."""
    random = torch.Generator().manual_seed(3)
    shapes = [(12, 2), (5, 3), (20, 17), (7, 1), (9, 5), (16, 2)]
    rows = []
    for length, answer in shapes:
        ids = torch.randint(2, 1536, (length,), generator=random).tolist()
        labels = [IGNORED] * (length - answer) + ids[length - answer :]
        rows.append({"input_ids": ids, "labels": labels})
    return rows


def batch_of(rows: Rows) -> Batch:
    return PadRows(pad_id=0)(rows)


def gradients(model: Any, batches: list[Batch]) -> tuple[float, dict[str, torch.Tensor]]:
    model.zero_grad(set_to_none=True)
    loss_of = NextTokenLoss(model)
    places = sum(supervised_places(batch["labels"]) for batch in batches)
    total = 0.0
    for batch in batches:
        loss = loss_of(**batch, places=places)
        loss.backward()
        total += float(loss.detach())
    grads = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return total, grads


def test_it_is_the_models_own_loss(tiny_model: Any) -> None:
    batch = batch_of(some_rows())
    own = tiny_model(**batch).loss
    loss = NextTokenLoss(tiny_model)(**batch, places=supervised_places(batch["labels"]))
    torch.testing.assert_close(loss, own, rtol=1e-6, atol=0)


def test_it_is_the_models_own_gradient(tiny_model: Any) -> None:
    model = tiny_model.double()
    batch = batch_of(some_rows())
    model(**batch).loss.backward()
    own = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    _, grads = gradients(model, [batch])
    assert grads.keys() == own.keys()
    # The logits are made fp32 before the loss, as transformers makes them.
    for name in own:
        torch.testing.assert_close(grads[name], own[name], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("cuts", [(1, 2, 3, 4, 5), (2, 4), (3,), (1,), (5,)])
def test_accumulation_weighs_tokens_and_not_batches(tiny_model: Any, cuts: tuple[int, ...]) -> None:
    model = tiny_model.double()
    rows = some_rows()
    ends = [0, *cuts, len(rows)]
    parts = [batch_of(rows[a:b]) for a, b in pairwise(ends)]
    loss, at_once = gradients(model, [batch_of(rows)])
    loss_in_parts, in_parts = gradients(model, parts)
    assert loss_in_parts == pytest.approx(loss, rel=1e-6)
    largest = max(float(grad.abs().max()) for grad in at_once.values())
    assert largest > 1e-3
    for name, grad in at_once.items():
        assert float((in_parts[name] - grad).abs().max()) < 1e-6 * largest, name


def test_right_padding_changes_nothing(tiny_model: Any) -> None:
    model = tiny_model.double()
    (row, *_) = some_rows()
    alone = batch_of([row])
    long = {"input_ids": [5] * 40, "labels": [IGNORED] * 40}
    padded = {name: tensor[:1] for name, tensor in batch_of([row, long]).items()}
    assert padded["input_ids"].shape[1] == 40
    loss, grads = gradients(model, [alone])
    loss_padded, grads_padded = gradients(model, [padded])
    assert loss_padded == pytest.approx(loss, rel=1e-6)
    for name, grad in grads.items():
        torch.testing.assert_close(grads_padded[name], grad, rtol=1e-4, atol=1e-8)


def test_what_padding_holds_changes_nothing(tiny_model: Any) -> None:
    batch = batch_of(some_rows())
    other = PadRows(pad_id=77)(some_rows())
    places = supervised_places(batch["labels"])
    loss_of = NextTokenLoss(tiny_model)
    torch.testing.assert_close(loss_of(**batch, places=places), loss_of(**other, places=places))


def test_the_loss_of_a_place_is_that_of_its_next_token(tiny_model: Any) -> None:
    """By hand, from the model's probabilities."""
    row = {"input_ids": [5, 6, 7, 1], "labels": [IGNORED, IGNORED, 7, 1]}
    logits = tiny_model(torch.tensor([row["input_ids"]])).logits[0]
    wanted = -sum(logits[place].log_softmax(-1)[label] for place, label in [(1, 7), (2, 1)]) / 2
    loss = NextTokenLoss(tiny_model)(**batch_of([row]), places=2)
    torch.testing.assert_close(loss, wanted)


def test_the_first_place_of_a_row_has_no_prediction() -> None:
    assert supervised_places(torch.tensor([[5, 6, 7], [IGNORED, IGNORED, 7]])) == 3


def test_a_batch_without_a_supervised_place_gives_nought(tiny_model: Any) -> None:
    batch = batch_of([{"input_ids": [5, 6], "labels": [IGNORED, IGNORED]}])
    assert float(NextTokenLoss(tiny_model)(**batch, places=8).detach()) == 0
