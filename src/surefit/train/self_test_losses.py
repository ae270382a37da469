"""Tries on this device: chunked losses are those written plainly in float64, masks and all."""

import math
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F

from surefit.data.tokens import IGNORED
from surefit.losses.cross_entropy import head_cross_entropy
from surefit.losses.distillation import FromHidden, Head, head_distillation
from surefit.losses.divergence import OBJECTIVES, Divergence
from surefit.losses.places import find_places
from surefit.losses.plain import plain_distillation

from .tried import PRECISIONS, Tried, drawn, exact

ROWS, TOKENS, WIDTH, TEACHER_WIDTH, VOCABULARY = 3, 20, 24, 32, 517
CHUNK = 7
"""So that places come in several chunks, and the last of them is short."""

MOST = {"fp32": 1e-5, "fp16": 1e-2, "bf16": 5e-2}
"""Relative difference of value or gradients. Half precisions round every logit."""

MOST_OF_ITSELF = 1e-5
ALPHA = 0.5
TEMPERATURES = (1.0, 2.0)


def cross_entropy_in_chunks(device: torch.device) -> Iterator[Tried]:
    """Gradients are those of whole batches: also where nothing is supervised."""
    for name, dtype in PRECISIONS.items():
        labels = _labels()
        hidden = _leaf(drawn(ROWS, TOKENS, WIDTH, seed=1), device, dtype)
        weight = _leaf(drawn(VOCABULARY, WIDTH, seed=2, scale=0.5), device, dtype)
        bias = _leaf(drawn(VOCABULARY, seed=3), device, dtype)
        places = find_places(labels.to(device))
        lean = head_cross_entropy(places.of(hidden), weight, bias, places.targets, CHUNK)
        gradients = torch.autograd.grad(lean, (hidden, weight, bias))

        plain_given = [exact(one).requires_grad_() for one in (hidden, weight, bias)]
        logits = F.linear(*plain_given)[:, :-1].reshape(-1, VOCABULARY)
        plain = F.cross_entropy(
            logits, labels[:, 1:].reshape(-1), ignore_index=IGNORED, reduction="sum"
        )
        expected = torch.autograd.grad(plain, plain_given)
        difference = _difference(lean, plain, gradients, expected)
        yield _tried(f"chunked cross entropy = naive, {name}", name, difference)
        yield _masked(name, gradients[0], labels)


def distillation_in_chunks(device: torch.device) -> Iterator[Tried]:
    for name, dtype in PRECISIONS.items():
        for objective in OBJECTIVES:
            differences = [
                _distilled(device, dtype, Divergence(objective, temperature))
                for temperature in TEMPERATURES
            ]
            yield _tried(f"chunked {objective} = naive, {name}", name, _largest(differences))


def divergence_of_itself(device: torch.device) -> Iterator[Tried]:
    """A student that is its own teacher."""
    hidden = drawn(40, WIDTH, seed=4).to(device)
    head = Head(drawn(VOCABULARY, WIDTH, seed=5).to(device))
    targets = torch.zeros(40, dtype=torch.long, device=device)
    for objective in OBJECTIVES:
        how = Divergence(objective, 2.0)
        teacher = FromHidden(hidden, head)
        found = head_distillation(hidden, head, teacher, targets, how, 1.0, CHUNK)
        value = abs(found.divergence.item()) / len(targets)
        yield Tried(
            f"{objective} of a model from itself",
            f"{value:.1e}",
            f"at most {MOST_OF_ITSELF:g}",
            value <= MOST_OF_ITSELF,
        )


def _distilled(device: torch.device, dtype: torch.dtype, how: Divergence) -> float:
    labels = _labels()
    hidden = _leaf(drawn(ROWS, TOKENS, WIDTH, seed=6), device, dtype)
    weight = _leaf(drawn(VOCABULARY, WIDTH, seed=7, scale=0.5), device, dtype)
    teacher_hidden = drawn(ROWS, TOKENS, TEACHER_WIDTH, seed=8).to(device, dtype)
    teacher_weight = drawn(VOCABULARY, TEACHER_WIDTH, seed=9, scale=0.4).to(device, dtype)
    places = find_places(labels.to(device))
    lean = head_distillation(
        places.of(hidden),
        Head(weight),
        FromHidden(places.of(teacher_hidden), Head(teacher_weight)),
        places.targets,
        how,
        ALPHA,
        CHUNK,
    ).loss
    gradients = torch.autograd.grad(lean, (hidden, weight))

    own_hidden, own_weight = (exact(one).requires_grad_() for one in (hidden, weight))
    targets = labels[:, 1:].reshape(-1)
    seen = targets != IGNORED
    own = (own_hidden @ own_weight.T)[:, :-1].reshape(-1, VOCABULARY)
    said = (exact(teacher_hidden) @ exact(teacher_weight).T)[:, :-1].reshape(-1, VOCABULARY)
    plain = plain_distillation(own[seen], said[seen], targets[seen], how).mixed(ALPHA).sum()
    expected = torch.autograd.grad(plain, (own_hidden, own_weight))
    return _difference(lean, plain, gradients, expected)


def _difference(
    lean: torch.Tensor,
    plain: torch.Tensor,
    gradients: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
) -> float:
    """The largest of the relative differences of the value and of each tensor's gradient."""
    pairs = zip(gradients, expected, strict=True)
    of_gradients = [float((exact(one) - other).norm() / other.norm()) for one, other in pairs]
    value = abs(lean.item() - plain.item()) / abs(plain.item())
    return _largest([value, *of_gradients])


def _largest(differences: Sequence[float]) -> float:
    """NaN is larger than any number."""
    return max(differences, key=lambda one: math.inf if math.isnan(one) else one)


def _tried(title: str, precision: str, largest: float) -> Tried:
    most = MOST[precision]
    return Tried(title, f"relative difference {largest:.1e}", f"at most {most:g}", largest <= most)


def _masked(precision: str, gradient: torch.Tensor, labels: torch.Tensor) -> Tried:
    ahead = torch.full_like(labels, IGNORED)
    ahead[:, :-1] = labels[:, 1:]
    hidden_from = ahead == IGNORED
    pulled = int(gradient.cpu()[hidden_from].ne(0).any(1).sum())
    return Tried(
        f"masked places have no gradient, {precision}",
        f"{pulled} of {int(hidden_from.sum())} have one",
        "at most 0",
        pulled == 0,
    )


def _labels() -> torch.Tensor:
    """A masked beginning of each row, a masked end of one, and a hole in another."""
    random = torch.Generator().manual_seed(0)
    labels = torch.randint(0, VOCABULARY, (ROWS, TOKENS), generator=random)
    labels[:, :4] = IGNORED
    labels[1, 12:] = IGNORED
    labels[2, 8] = IGNORED
    return labels


def _leaf(tensor: torch.Tensor, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    return tensor.to(device, dtype).requires_grad_()
