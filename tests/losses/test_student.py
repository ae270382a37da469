"""A student's loss on a batch: accumulation weighs by tokens, padding and prompts teach nothing."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.batches import PadRows
from surefit.data.row import IGNORED
from surefit.losses.divergence import Divergence
from surefit.losses.places import Places, supervised_places
from surefit.losses.student import Batch, StudentLoss
from surefit.losses.teacher import FromHidden
from surefit.train.teacher import Teacher
from tiny_models import VOCABULARY, tiny

ALPHA, TEMPERATURE = 0.3, 2.0
HOW = Divergence("forward-kl", TEMPERATURE)


def row(length: int, prompt: int, seed: int) -> dict[str, list[int]]:
    ids = torch.randint(
        2, VOCABULARY, (length,), generator=torch.Generator().manual_seed(seed)
    ).tolist()
    return {"input_ids": ids, "labels": [IGNORED] * prompt + ids[prompt:]}


def student_of(model: Any, teacher: Any, tokens: int = VOCABULARY) -> StudentLoss:
    hears = Teacher(teacher)

    def voice(batch: Batch, places: Places) -> FromHidden:
        return hears.read(batch, places, tokens)

    return StudentLoss(model, voice, HOW, ALPHA, tokens)


def naive(model: Any, teacher: Any, row: dict[str, list[int]], tokens: int) -> torch.Tensor:
    """One row by itself, unpadded, all logits at once: the sum over its supervised tokens."""
    ids, labels = torch.tensor([row["input_ids"]]), torch.tensor(row["labels"])[1:]
    own = model(ids).logits[0, :-1, :tokens]
    with torch.no_grad():
        other = teacher(ids).logits[0, :-1, :tokens]
    seen = labels != IGNORED
    entropy = F.cross_entropy(own[seen], labels[seen], reduction="sum")
    apart = F.kl_div(
        (own[seen] / TEMPERATURE).log_softmax(-1),
        (other[seen] / TEMPERATURE).softmax(-1),
        reduction="sum",
    )
    return (1 - ALPHA) * entropy + ALPHA * TEMPERATURE**2 * apart


@given(
    shapes=st.lists(
        st.tuples(st.integers(2, 12), st.integers(0, 3)), min_size=1, max_size=4
    ).filter(lambda some: all(prompt < length for length, prompt in some)),
    parted=st.integers(1, 3),
)
def test_batches_of_a_step_are_their_rows_one_by_one(
    shapes: list[tuple[int, int]], parted: int
) -> None:
    model, teacher = tiny("qwen3"), tiny("llama").double()
    model = model.double()
    rows = [row(length, prompt, seed) for seed, (length, prompt) in enumerate(shapes)]
    loss_of = student_of(model, teacher)
    batches = [PadRows(pad_id=0)(rows[at : at + parted]) for at in range(0, len(rows), parted)]
    places = sum(supervised_places(batch["labels"]) for batch in batches)
    total = torch.zeros((), dtype=torch.float64)
    for batch in batches:
        loss = loss_of(**batch, places=places)
        loss.backward()
        total += loss.detach()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    wanted = sum((naive(model, teacher, one, VOCABULARY) for one in rows), torch.zeros(())) / places
    wanted.backward()
    torch.testing.assert_close(total, wanted.detach(), rtol=1e-8, atol=1e-10)
    for gradient, parameter in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-6, atol=1e-9)
    sums = loss_of.sums.take()
    mixed = (1 - ALPHA) * sums.cross_entropy + ALPHA * sums.divergence
    assert mixed / places == pytest.approx(float(wanted.detach()))
    assert loss_of.sums.take().cross_entropy == 0


@pytest.mark.parametrize("way", ["chunks", "places", "tokens"])
@pytest.mark.parametrize("tokens", [VOCABULARY, VOCABULARY - 7])
def test_every_way_to_logits_gives_the_same(way: Any, tokens: int) -> None:
    model, teacher = tiny("qwen3").double(), tiny("gpt2").double()
    rows = [row(9, 2, 1), row(6, 0, 2)]
    for one in rows:
        one["labels"] = [min(label, tokens - 1) for label in one["labels"]]
    batch = PadRows(pad_id=0)(rows)
    places = supervised_places(batch["labels"])
    loss_of = student_of(model, teacher, tokens)
    loss_of.way = way
    loss = loss_of(**batch, places=places)
    loss.backward()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    wanted = sum((naive(model, teacher, one, tokens) for one in rows), torch.zeros(())) / places
    wanted.backward()
    torch.testing.assert_close(loss, wanted)
    for gradient, parameter in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-6, atol=1e-9)


def test_a_batch_without_labels_teaches_nothing() -> None:
    model, teacher = tiny("qwen3"), tiny("llama")
    batch = PadRows(pad_id=0)([row(5, 0, 3)])
    batch["labels"].fill_(IGNORED)
    loss = student_of(model, teacher)(**batch, places=4)
    loss.backward()
    assert float(loss.detach()) == 0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_the_teacher_is_no_part_of_the_student() -> None:
    model, teacher = tiny("qwen3"), tiny("llama")
    loss_of = student_of(model, teacher)
    own = {id(parameter) for parameter in model.parameters()}
    assert {id(parameter) for parameter in loss_of.parameters()} == own
    assert not any(parameter.requires_grad for parameter in teacher.parameters())
