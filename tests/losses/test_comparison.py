"""A student and its teacher are compared as their logits at all places would be."""

import pytest
import torch
import torch.nn.functional as F

from surefit.losses.comparison import Compared, compared
from surefit.losses.teacher import FromHidden, Head, TopK
from surefit.losses.top_k import top_k_of

PLACES, VOCABULARY = 23, 61


def drawn(seed: int, *shape: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=random, dtype=torch.float64)


HIDDEN, WEIGHT, BIAS = drawn(0, PLACES, 6), drawn(1, VOCABULARY, 6), drawn(2, VOCABULARY)
TEACHER_HIDDEN, TEACHER_WEIGHT = drawn(3, PLACES, 9), drawn(4, VOCABULARY, 9)
# Half of the teacher is the student, so that they agree in some places.
TEACHER_HIDDEN[: PLACES // 2, :6], TEACHER_WEIGHT[:, :6] = HIDDEN[: PLACES // 2], WEIGHT
TEACHER_HIDDEN[: PLACES // 2, 6:] *= 0.1
TARGETS = torch.arange(PLACES) * 7 % VOCABULARY
OWN, OF_TEACHER = F.linear(HIDDEN, WEIGHT, BIAS), F.linear(TEACHER_HIDDEN, TEACHER_WEIGHT)


def kept(k: int, temperature: float = 1.0) -> TopK:
    return top_k_of(TEACHER_HIDDEN, Head(TEACHER_WEIGHT), TARGETS, k, temperature, chunk=5)


def check(found: Compared, divergence: torch.Tensor) -> None:
    own = F.cross_entropy(OWN, TARGETS, reduction="sum")
    of_teacher = F.cross_entropy(OF_TEACHER, TARGETS, reduction="sum")
    torch.testing.assert_close(found.cross_entropy, own)
    torch.testing.assert_close(found.teacher_cross_entropy, of_teacher)
    torch.testing.assert_close(found.divergence, divergence)
    agreeing = int((OWN.argmax(1) == OF_TEACHER.argmax(1)).sum())
    assert 0 < agreeing < PLACES
    assert (int(found.agreeing), found.places) == (agreeing, PLACES)


@pytest.mark.parametrize("chunk", [1, 5, 100])
@pytest.mark.parametrize("with_head", [True, False])
def test_both_models_at_hand(chunk: int, with_head: bool) -> None:
    own, head = (HIDDEN, Head(WEIGHT, BIAS)) if with_head else (OWN.clone(), None)
    said = (
        FromHidden(TEACHER_HIDDEN, Head(TEACHER_WEIGHT))
        if with_head
        else FromHidden(OF_TEACHER.clone(), None)
    )
    found = compared(own, head, said, TARGETS, chunk)
    p, q = OF_TEACHER.softmax(1), OWN.softmax(1)
    check(found, (p * (p / q).log()).sum())
    if not with_head:
        assert torch.equal(own, OWN), "the model's own logits are left as they were"


@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("k", [1, 4, VOCABULARY - 1])
def test_of_a_kept_teacher(k: int, temperature: float) -> None:
    """The temperature of the run does not show: the comparison is made at 1."""
    found = compared(HIDDEN, Head(WEIGHT, BIAS), kept(k, temperature), TARGETS, 5)
    ids = OF_TEACHER.topk(k, dim=1).indices
    p, q = (x.softmax(1).gather(1, ids) for x in (OF_TEACHER, OWN))
    p, q = (torch.cat((x, 1 - x.sum(1, keepdim=True)), 1) for x in (p, q))
    check(found, (p * (p / q).log()).sum())


def test_of_a_teacher_all_of_which_was_kept() -> None:
    found = compared(HIDDEN, Head(WEIGHT, BIAS), kept(VOCABULARY), TARGETS, 5)
    p, q = OF_TEACHER.softmax(1), OWN.softmax(1)
    check(found, (p * (p / q).log()).sum())


def test_what_was_not_kept_is_not_known() -> None:
    full = kept(4)
    bare = TopK(full.ids, full.log_probabilities.half(), full.log_normaliser)
    found = compared(HIDDEN, Head(WEIGHT, BIAS), bare, TARGETS)
    assert found.teacher_cross_entropy is None
    assert found.divergence.isfinite()


def test_half_precision_is_compared_in_single() -> None:
    head, said = Head(WEIGHT.bfloat16()), FromHidden(OF_TEACHER.bfloat16(), None)
    found = compared(HIDDEN.bfloat16().requires_grad_(), head, said, TARGETS)
    assert found.divergence.dtype == torch.float32
    assert not found.divergence.requires_grad


def test_a_model_and_itself() -> None:
    said = FromHidden(HIDDEN.float(), Head(WEIGHT.float()))
    found = compared(said.hidden, said.head, said, TARGETS)
    assert found.divergence == 0
    assert found.agreeing == PLACES
    assert found.teacher_cross_entropy == found.cross_entropy
