"""The chunked loss of two models is that of all their logits at once."""

from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from allocations import allocations
from surefit.data.tokens import IGNORED
from surefit.losses.distillation import Distilled, FromHidden, Head, TopK, head_distillation
from surefit.losses.divergence import OBJECTIVES, Divergence, Objective
from surefit.losses.places import find_places, supervised_places
from surefit.losses.top_k import top_k_of

VOCABULARY, WIDTH, TEACHER_WIDTH = 61, 6, 9


@dataclass
class Numbers:
    """Hidden states and heads of both models, in one precision."""

    hidden: torch.Tensor
    weight: torch.Tensor
    bias: torch.Tensor
    teacher_hidden: torch.Tensor
    teacher_weight: torch.Tensor
    targets: torch.Tensor

    @property
    def head(self) -> Head:
        return Head(self.weight, self.bias)

    @property
    def teacher(self) -> FromHidden:
        return FromHidden(self.teacher_hidden, Head(self.teacher_weight))

    def kept(self, k: int, temperature: float) -> TopK:
        head = Head(self.teacher_weight)
        return top_k_of(self.teacher_hidden, head, self.targets, k, temperature, chunk=5)

    @property
    def gradients(self) -> list[torch.Tensor | None]:
        return [self.hidden.grad, self.weight.grad, self.bias.grad]


def numbers(
    places: int, dtype: torch.dtype = torch.float64, vocabulary: int = VOCABULARY
) -> Numbers:
    random = torch.Generator().manual_seed(places)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64).to(dtype)

    return Numbers(
        drawn(places, WIDTH).requires_grad_(),
        drawn(vocabulary, WIDTH).requires_grad_(),
        drawn(vocabulary).requires_grad_(),
        drawn(places, TEACHER_WIDTH),
        drawn(vocabulary, TEACHER_WIDTH),
        torch.randint(0, vocabulary, (places,), generator=random),
    )


def as_in(half: Numbers, full: Numbers) -> None:
    """Gives the one the other's numbers, whatever its precision."""
    with torch.no_grad():
        for name in ("hidden", "weight", "bias", "teacher_hidden", "teacher_weight"):
            getattr(full, name).copy_(getattr(half, name))


def by_formula(teacher: torch.Tensor, student: torch.Tensor, how: Divergence) -> torch.Tensor:
    """From logits of all places, with nothing but sums of p log(p / q), for autograd."""
    p, q = ((logits / how.temperature).softmax(1) for logits in (teacher, student))

    def kl(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return (one * (one.log() - other.log())).sum()

    apart = {
        "forward-kl": lambda: kl(p, q),
        "reverse-kl": lambda: kl(q, p),
        "jsd": lambda: (
            how.share * kl(p, how.share * p + (1 - how.share) * q)
            + (1 - how.share) * kl(q, how.share * p + (1 - how.share) * q)
        ),
        "skew-kl": lambda: kl(p, how.skew * p + (1 - how.skew) * q),
        "skew-reverse-kl": lambda: kl(q, how.skew * q + (1 - how.skew) * p),
    }[how.objective]()
    return apart * how.temperature**2


def at_once(given: Numbers, how: Divergence, alpha: float) -> Distilled:
    own = F.linear(given.hidden, given.weight, given.bias)
    of_teacher = F.linear(given.teacher_hidden, given.teacher_weight)
    entropy = F.cross_entropy(own, given.targets, reduction="sum")
    apart = by_formula(of_teacher, own, how)
    return Distilled((1 - alpha) * entropy + alpha * apart, entropy.detach(), apart.detach())


def in_buckets(given: Numbers, k: int, how: Divergence, alpha: float) -> Distilled:
    """As `at_once`, with all tokens but the teacher's k likeliest as one outcome of both."""
    own = F.linear(given.hidden, given.weight, given.bias)
    of_teacher = F.linear(given.teacher_hidden, given.teacher_weight)
    entropy = F.cross_entropy(own, given.targets, reduction="sum")
    ids = of_teacher.topk(k, dim=1).indices

    def bucketed(logits: torch.Tensor) -> torch.Tensor:
        """Logits of k + 1 outcomes whose softmax at the temperature is that of the buckets."""
        probabilities = (logits / how.temperature).softmax(1)
        top = probabilities.gather(1, ids)
        outcomes = torch.cat((top, probabilities.sum(1, keepdim=True) - top.sum(1, True)), 1)
        return outcomes.log() * how.temperature

    apart = by_formula(bucketed(of_teacher), bucketed(own), how)
    return Distilled((1 - alpha) * entropy + alpha * apart, entropy.detach(), apart.detach())


def agree(one: Distilled, other: Distilled, rtol: float = 1e-9) -> None:
    for name in ("cross_entropy", "divergence", "loss"):
        found, expected = (getattr(x, name).detach().double() for x in (one, other))
        torch.testing.assert_close(found, expected, rtol=rtol, atol=rtol)


def same_gradients(one: Numbers, other: Numbers, within: float = 1e-8) -> None:
    """Within a part of the largest."""
    for found, expected in zip(one.gradients, other.gradients, strict=True):
        assert (found is None) == (expected is None)
        if found is not None and expected is not None and expected.numel():
            apart = (found.double() - expected.double()).abs().max()
            assert apart <= within * expected.abs().max().clamp(min=1e-3)


objectives = st.sampled_from(OBJECTIVES)
temperatures = st.sampled_from([1.0, 2.0, 3.0, 0.7])
alphas = st.sampled_from([0.0, 0.3, 1.0])


@settings(max_examples=60, deadline=None)
@given(objectives, temperatures, alphas, st.sampled_from([0.1, 0.5]), st.sampled_from([1, 4, 13]))
def test_sums_and_gradients(
    objective: Objective, temperature: float, alpha: float, mixed: float, places: int
) -> None:
    how = Divergence(objective, temperature, share=mixed, skew=mixed)
    one, other = numbers(places), numbers(places)
    found = head_distillation(one.hidden, one.head, one.teacher, one.targets, how, alpha, chunk=5)
    expected = at_once(other, how, alpha)
    agree(found, expected)
    (found.loss / 7).backward()
    (expected.loss / 7).backward()
    same_gradients(one, other)


@settings(max_examples=60, deadline=None)
@given(objectives, temperatures, alphas, st.sampled_from([1, 7, 60]), st.sampled_from([1, 13]))
def test_a_kept_teacher_is_one_of_k_and_a_tail(
    objective: Objective, temperature: float, alpha: float, k: int, places: int
) -> None:
    how = Divergence(objective, temperature)
    one, other = numbers(places), numbers(places)
    kept = one.kept(k, temperature)
    found = head_distillation(one.hidden, one.head, kept, one.targets, how, alpha, chunk=5)
    expected = in_buckets(other, k, how, alpha)
    agree(found, expected, rtol=1e-7)
    found.loss.backward()
    expected.loss.backward()
    same_gradients(one, other, 1e-6)


@settings(max_examples=30, deadline=None)
@given(objectives, temperatures, alphas)
def test_all_tokens_kept_are_the_teacher(
    objective: Objective, temperature: float, alpha: float
) -> None:
    how = Divergence(objective, temperature)
    one, other = numbers(13), numbers(13)
    kept = one.kept(VOCABULARY, temperature)
    found = head_distillation(one.hidden, one.head, kept, one.targets, how, alpha, chunk=5)
    expected = at_once(other, how, alpha)
    agree(found, expected)
    found.loss.backward()
    expected.loss.backward()
    same_gradients(one, other)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_single_precision_is_right_to_five_digits(objective: Objective, temperature: float) -> None:
    how = Divergence(objective, temperature)
    single, double = numbers(40, torch.float32, 5003), numbers(40, torch.float64, 5003)
    as_in(single, double)
    found = head_distillation(
        single.hidden, single.head, single.teacher, single.targets, how, 0.5, chunk=16
    )
    expected = at_once(double, how, 0.5)
    agree(found, expected, rtol=1e-5)
    found.loss.backward()
    expected.loss.backward()
    same_gradients(single, double, 1e-5)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_teacher_kept_in_half_precision(objective: Objective) -> None:
    how = Divergence(objective, 2.0)
    one, other = numbers(40), numbers(40)
    kept = one.kept(8, 2.0)
    rounded = replace(
        kept,
        log_probabilities=kept.log_probabilities.half(),
        log_normaliser=kept.log_normaliser.float(),
    )
    found = head_distillation(one.hidden, one.head, rounded, one.targets, how, 0.5)
    expected = head_distillation(other.hidden, other.head, kept, other.targets, how, 0.5)
    agree(found, expected, rtol=1e-2)
    found.loss.backward()
    expected.loss.backward()
    same_gradients(one, other, 1e-2)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("k", [1, 3, VOCABULARY])
def test_a_teacher_without_a_tail_gives_no_nan(objective: Objective, k: int) -> None:
    """One token has it all, which rounding makes a little more than all."""
    given = numbers(4, torch.float32)
    certain = torch.full((4, k), -1e4)
    certain[:, 0] = 1e-3
    kept = TopK(torch.arange(k).expand(4, k), certain, torch.zeros(4))
    with torch.no_grad():
        given.hidden.mul_(40)
    found = head_distillation(
        given.hidden, given.head, kept, given.targets, Divergence(objective), 0.5
    )
    found.loss.backward()
    assert found.loss.isfinite()
    assert found.divergence >= 0
    for gradient in given.gradients:
        assert gradient is not None
        assert gradient.isfinite().all()


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("temperature", [1.0, 2.0, 20.0])
def test_a_student_without_a_tail_gives_no_nan(objective: Objective, temperature: float) -> None:
    """All tokens that were not kept are so unlikely that their exponentials are 0."""
    logits = torch.full((4, VOCABULARY), -1e4)
    logits[:, :3] = 0
    logits.requires_grad_()
    even = torch.full((4, 3), -1.5)
    kept = TopK(torch.arange(3).expand(4, 3), even, torch.full((4,), 2.0))
    found = head_distillation(
        logits,
        None,
        kept,
        torch.zeros(4, dtype=torch.long),
        Divergence(objective, temperature),
        0.5,
    )
    found.loss.backward()
    assert found.loss.isfinite()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


@settings(max_examples=30, deadline=None)
@given(objectives, temperatures, st.sampled_from([None, 7]))
def test_logits_in_place_of_hidden_states(
    objective: Objective, temperature: float, k: int | None
) -> None:
    how = Divergence(objective, temperature)
    one, other = numbers(13), numbers(13)
    logits = F.linear(one.hidden, one.weight, one.bias).detach().requires_grad_()
    kept = logits.detach().clone()
    of_teacher = F.linear(one.teacher_hidden, one.teacher_weight)
    said = FromHidden(of_teacher, None) if k is None else one.kept(k, temperature)
    wanted = at_once(other, how, 0.3) if k is None else in_buckets(other, k, how, 0.3)
    found = head_distillation(logits, None, said, one.targets, how, 0.3, chunk=5)
    agree(found, wanted, 1e-7)
    logits.backward(torch.autograd.grad(found.loss, logits)[0])
    assert torch.equal(logits, kept), "they are the model's own"
    wanted.loss.backward()
    assert logits.grad is not None
    assert other.bias.grad is not None
    torch.testing.assert_close(logits.grad.sum(0), other.bias.grad, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_tokens_that_both_rule_out(objective: Objective) -> None:
    """A model that masks its own logits does so with minus infinity."""
    given = numbers(5)
    own = F.linear(given.hidden, given.weight).detach()
    of_teacher = F.linear(given.teacher_hidden, given.teacher_weight)
    allowed = head_distillation(
        own[:, :50].clone().requires_grad_(),
        None,
        FromHidden(of_teacher[:, :50], None),
        given.targets.clamp(max=49),
        Divergence(objective, 2.0),
        0.5,
    )
    own[:, 50:] = of_teacher[:, 50:] = -torch.inf
    own.requires_grad_()
    found = head_distillation(
        own,
        None,
        FromHidden(of_teacher, None),
        given.targets.clamp(max=49),
        Divergence(objective, 2.0),
        0.5,
    )
    agree(found, allowed)
    found.loss.backward()
    assert own.grad is not None
    assert own.grad.isfinite().all()
    assert not own.grad[:, 50:].any()


def test_of_a_wider_head_the_first_rows() -> None:
    """Slices are views: the gradient reaches the whole parameter, and the whole is not copied."""
    one, other = numbers(40, vocabulary=4096), numbers(40, vocabulary=4096)
    head = Head(one.weight[:4000], one.bias[:4000])
    said = FromHidden(one.teacher_hidden, Head(one.teacher_weight[:4000]))
    targets = one.targets % 4000
    with allocations() as allocated, torch.no_grad():
        head_distillation(one.hidden, head, said, targets, Divergence(), 0.5, chunk=2)
    assert allocated.largest < one.weight.nbytes
    head_distillation(one.hidden, head, said, targets, Divergence(), 0.5).loss.backward()
    sliced = replace(
        other,
        weight=other.weight[:4000],
        bias=other.bias[:4000],
        teacher_weight=other.teacher_weight[:4000],
        targets=targets,
    )
    at_once(sliced, Divergence(), 0.5).loss.backward()
    same_gradients(one, other)
    assert one.weight.grad is not None
    assert one.weight.grad[:4000].any()
    assert not one.weight.grad[4000:].any()


@pytest.mark.parametrize("objective", ["forward-kl", "jsd"])
@pytest.mark.parametrize("k", [None, 8])
def test_never_more_logits_than_those_of_a_chunk(objective: Objective, k: int | None) -> None:
    chunk, places, vocabulary = 32, 320, 2**14
    given = numbers(places, torch.float32, vocabulary)
    how = Divergence(objective, 2.0)
    said = given.teacher if k is None else given.kept(k, 2.0)
    of_chunk = chunk * vocabulary * 4
    with allocations() as allocated:
        head_distillation(
            given.hidden, given.head, said, given.targets, how, 0.5, chunk
        ).loss.backward()
    assert allocated.largest == of_chunk
    # Logits of a chunk of both, a gradient of the weight, and copies of a few places.
    copies = 8 * 2**18 * 4
    kept = given.weight.nbytes + 4 * given.bias.nbytes + 4 * given.hidden.nbytes
    assert allocated.peak < (2 if k is None else 1) * of_chunk + kept + copies
    with allocations() as allocated:
        at_once(given, how, 0.5).loss.backward()
    assert allocated.largest == places * vocabulary * 4, "what is watched for can be seen"


@st.composite
def batches(draw: st.DrawFn) -> torch.Tensor:
    """Labels of a batch, with at least one that counts."""
    rows, tokens = draw(st.integers(1, 5)), draw(st.integers(2, 7))
    label = st.one_of(st.just(IGNORED), st.integers(0, VOCABULARY - 1))
    row = st.lists(label, min_size=tokens, max_size=tokens)
    labels = torch.tensor(draw(st.lists(row, min_size=rows, max_size=rows)))
    if not supervised_places(labels):
        labels[0, -1] = 3
    return labels


@settings(max_examples=60, deadline=None)
@given(batches(), st.booleans(), st.integers(1, 3), st.integers(1, 4))
def test_masks_shifts_and_accumulation(
    labels: torch.Tensor, cached: bool, rows_at_once: int, chunk: int
) -> None:
    """Micro-batches divided by the common count are a loop over the supervised tokens of all."""
    rows, tokens = labels.shape
    one, other = numbers(rows * tokens), numbers(rows * tokens)
    how, count = Divergence(temperature=2.0), supervised_places(labels)
    for start in range(0, rows, rows_at_once):
        micro = slice(start, start + rows_at_once)
        places = find_places(labels[micro])
        hidden = places.of(one.hidden.view(rows, tokens, -1)[micro])
        of_teacher = places.of(one.teacher_hidden.view(rows, tokens, -1)[micro])
        teacher_head = Head(one.teacher_weight)
        said = (
            top_k_of(of_teacher, teacher_head, places.targets, VOCABULARY, 2.0)
            if cached
            else FromHidden(of_teacher, teacher_head)
        )
        found = head_distillation(hidden, one.head, said, places.targets, how, 0.3, chunk)
        (found.loss / count).backward()
    losses = []
    for row in range(rows):
        for token in range(1, tokens):
            if labels[row, token] != IGNORED:
                at = slice(row * tokens + token - 1, row * tokens + token)
                alone = replace(
                    other,
                    hidden=other.hidden[at],
                    teacher_hidden=other.teacher_hidden[at],
                    targets=labels[row, token].view(1),
                )
                losses.append(at_once(alone, how, 0.3).loss)
    assert len(losses) == count
    (torch.stack(losses).sum() / count).backward()
    same_gradients(one, other)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("k", [None, 8])
def test_half_precision_is_summed_in_fp32(dtype: torch.dtype, k: int | None) -> None:
    how = Divergence(temperature=2.0)
    half, full = numbers(40, dtype), numbers(40)
    as_in(half, full)
    found, expected = (
        head_distillation(
            given.hidden,
            given.head,
            given.teacher if k is None else given.kept(k, 2.0),
            given.targets,
            how,
            0.5,
        )
        for given in (half, full)
    )
    assert found.loss.dtype == torch.float32
    torch.testing.assert_close(found.loss.double(), expected.loss, rtol=2e-2, atol=0)
    found.loss.backward()
    expected.loss.backward()
    assert half.weight.grad is not None
    assert half.weight.grad.dtype == dtype
    same_gradients(half, full, 5e-2)


def test_a_teacher_in_another_precision() -> None:
    one, other = numbers(20, torch.float32), numbers(20, torch.float32)
    said = FromHidden(one.teacher_hidden, Head(one.teacher_weight.bfloat16()))
    found = head_distillation(one.hidden, one.head, said, one.targets, Divergence(), 0.5)
    expected = at_once(other, Divergence(), 0.5)
    agree(found, expected, rtol=2e-2)
    found.loss.backward()
    expected.loss.backward()
    same_gradients(one, other, 5e-2)


def test_autocast_is_that_of_a_linear_layer() -> None:
    one, other = numbers(20, torch.float32), numbers(20, torch.float32)
    how = Divergence(temperature=2.0)
    with torch.autocast("cpu", torch.bfloat16):
        found = head_distillation(one.hidden, one.head, one.teacher, one.targets, how, 0.5)
    said = FromHidden(one.teacher_hidden.bfloat16(), Head(one.teacher_weight.bfloat16()))
    head = Head(other.weight.bfloat16(), other.bias.bfloat16())
    expected = head_distillation(other.hidden.bfloat16(), head, said, other.targets, how, 0.5)
    agree(found, expected)
    found.loss.backward()
    expected.loss.backward()
    assert one.weight.grad is not None
    assert one.weight.grad.dtype == torch.float32
    same_gradients(one, other)


@pytest.mark.parametrize("k", [None, 3])
def test_no_place_at_all(k: int | None) -> None:
    given = numbers(0)
    said = given.teacher if k is None else given.kept(k, 1.0)
    found = head_distillation(given.hidden, given.head, said, given.targets, Divergence(), 0.5)
    found.loss.backward()
    assert found.loss.item() == 0
    assert given.weight.grad is not None
    assert not given.weight.grad.any()


def test_the_teacher_is_given_no_gradient() -> None:
    given = numbers(3)
    given.teacher_weight.requires_grad_()
    given.teacher_hidden.requires_grad_()
    found = head_distillation(
        given.hidden, given.head, given.teacher, given.targets, Divergence(), 1.0
    )
    found.loss.backward()
    assert given.teacher_weight.grad is None
    assert given.teacher_hidden.grad is None


def test_a_frozen_head_is_given_no_gradient() -> None:
    one, other = numbers(8), numbers(8)
    one.weight.requires_grad_(False)
    one.bias.requires_grad_(False)
    found = head_distillation(one.hidden, one.head, one.teacher, one.targets, Divergence(), 0.5)
    found.loss.backward()
    at_once(other, Divergence(), 0.5).loss.backward()
    assert one.weight.grad is None
    assert one.bias.grad is None
    torch.testing.assert_close(one.hidden.grad, other.hidden.grad)
