"""An objective that works passes with its figures; each way of being dead is refused by name."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from surefit.doctor.findings import Finding
from surefit.errors import BadInput
from surefit.losses import distillation
from surefit.losses.distillation import Distilled, FromHidden, Head, TopK
from surefit.losses.divergence import OBJECTIVES, Divergence, Objective
from surefit.train import objective as few
from surefit.train.liveness import check_objective, check_updates

VOCABULARY, WIDTH, TEACHER_WIDTH = 301, 16, 24


def given(dtype: torch.dtype = torch.float32, places: int = 70, **other: Any) -> dict[str, Any]:
    random = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random).to(dtype)

    made = {
        "hidden": drawn(places, WIDTH),
        "head": Head(drawn(VOCABULARY, WIDTH), drawn(VOCABULARY)),
        "teacher": FromHidden(drawn(places, TEACHER_WIDTH), Head(drawn(VOCABULARY, TEACHER_WIDTH))),
        "targets": torch.randint(0, VOCABULARY, (places,), generator=random),
        "divergence": Divergence(),
        "alpha": 0.5,
    }
    return {**made, **other}


def refusal_of(call: dict[str, Any]) -> Finding:
    with pytest.raises(BadInput) as caught:
        check_objective(**call)
    assert caught.value.exit_code == 1
    return caught.value.findings[0]


@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_objective_that_works(objective: Objective, temperature: float) -> None:
    alive = check_objective(**given(divergence=Divergence(objective, temperature)))
    assert alive.places == 24, "every third of 70, and never more than 32"
    assert alive.of_itself < 1e-6
    assert alive.difference < 1e-5
    assert alive.gradient > 0.01
    assert (alive.by_temperature is None) == (temperature == 1)
    assert alive.clamped == 0
    assert (alive.uniform, alive.same) == (False, False)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("autocast", [True, False])
def test_half_precision_passes(dtype: torch.dtype, autocast: bool) -> None:
    call = given(torch.float32 if autocast else dtype, divergence=Divergence(temperature=2.0))
    with torch.autocast("cpu", dtype=dtype, enabled=autocast):
        alive = check_objective(**call)
    assert 1e-7 < alive.difference < 5e-2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_converged_student_passes(dtype: torch.dtype) -> None:
    call = given(dtype, alpha=1.0)
    near = (call["hidden"].double() + 1e-4 * torch.randn(70, WIDTH)).to(dtype)
    alive = check_objective(**{**call, "teacher": FromHidden(near, call["head"])})
    assert not alive.same
    assert alive.gradient < 0.1


def test_logits_without_a_head_and_a_token_ruled_out() -> None:
    logits = torch.randn(9, VOCABULARY)
    logits[:, 7] = -torch.inf
    call = given(places=9, hidden=logits, head=None)
    call["targets"][:] = 3
    teacher = torch.randn(9, VOCABULARY)
    teacher[:, 7] = -torch.inf
    alive = check_objective(**{**call, "teacher": FromHidden(teacher, None)})
    assert alive.difference < 1e-5


@pytest.mark.parametrize("kept", [1, 8, VOCABULARY])
@pytest.mark.parametrize("sure", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_teacher_of_which_the_likeliest_tokens_were_kept(
    objective: Objective, sure: float, kept: int
) -> None:
    """Of a sure one the tail is near the rounding of fp32, and no token is left if all are kept."""
    call = given(divergence=Divergence(objective, 2.0))
    said = sure * call["teacher"].hidden @ call["teacher"].head.weight.T
    log_p = said.log_softmax(1)
    top, ids = log_p.topk(kept)
    teacher = TopK(ids, top, (log_p / 2).logsumexp(1))
    assert check_objective(**{**call, "teacher": teacher}).difference < 1e-3


def test_a_kept_teacher_under_another_loss_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few, "head_distillation", wrong(twice))
    call = given()
    top, ids = (call["teacher"].hidden @ call["teacher"].head.weight.T).log_softmax(1).topk(8)
    found = refusal_of({**call, "teacher": TopK(ids, top, torch.zeros(70))})
    assert found.rule == "loss-not-as-defined"


def test_a_single_place() -> None:
    assert check_objective(**given(places=1)).places == 1


def test_no_place_at_all() -> None:
    found = refusal_of(given(places=0))
    assert found.rule == "objective-without-gradient"
    assert "no supervised position" in found.headline


def test_the_line_for_the_log() -> None:
    alive = replace(
        check_objective(**given()), of_itself=3.1e-9, difference=2.4e-7, gradient=0.0123
    )
    weights = nn.Parameter(torch.randn(100))
    line = str(check_updates(alive, [weights], 1e-3))
    assert line == (
        "Objective: KL(p,p) 3.1e-09, chunked = naive to 2.4e-07, gradient 0.0123, "
        "0.0 % of updates lost"
    )


def test_updates_that_would_be_lost_are_refused() -> None:
    alive = check_objective(**given())
    weights = nn.Parameter(torch.randn(1000).to(torch.bfloat16))
    with pytest.raises(BadInput, match="of the trainable weights would not change"):
        check_updates(alive, [weights], 5e-6)


def wrong(change: Any) -> Any:
    """The loss of the run, with something in it changed."""
    true = distillation.head_distillation

    def made(hidden: Any, head: Any, teacher: Any, *others: Any, **named: Any) -> Distilled:
        found: Distilled = change(true, hidden, head, teacher, *others, **named)
        return found

    return made


def twice(true: Any, *call: Any, **named: Any) -> Distilled:
    found: Distilled = true(*call, **named)
    return replace(found, loss=found.loss * 2)


def without_square(true: Any, *call: Any, **named: Any) -> Distilled:
    found: Distilled = true(*call, **named)
    alpha, square = call[5], call[4].temperature ** 2
    short = replace(found, divergence=found.divergence / square)
    loss = (1 - alpha) * found.cross_entropy + alpha * short.divergence
    return replace(short, loss=loss + 0 * found.loss)


def of_other_gradient(true: Any, *call: Any, **named: Any) -> Distilled:
    found: Distilled = true(*call, **named)
    return replace(found, loss=found.loss + call[0].sum() - call[0].sum().detach())


def never_zero(true: Any, hidden: Any, head: Any, teacher: Any, *call: Any, **named: Any) -> Any:
    found: Distilled = true(hidden, head, teacher, *call, **named)
    itself = isinstance(teacher, FromHidden) and teacher.hidden.shape == hidden.shape
    return replace(found, divergence=found.divergence + 0.1) if itself else found


@pytest.mark.parametrize("change", [twice, without_square, of_other_gradient, never_zero])
def test_a_loss_that_is_another_is_refused(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few, "head_distillation", wrong(change))
    found = refusal_of(given(divergence=Divergence(temperature=4.0)))
    assert found.rule == "loss-not-as-defined"
    assert ("16 times too small" in found.why) == (change is without_square)
    assert [fact.name for fact in found.facts][1:3] == ["loss", "gradient"]


def test_a_gradient_of_zero_is_refused() -> None:
    call = given(head=Head(torch.zeros(VOCABULARY, WIDTH), torch.randn(VOCABULARY)))
    found = refusal_of(call)
    assert found.rule == "objective-without-gradient"
    assert "exactly 0" in found.headline
    call["head"].weight.requires_grad_()
    assert check_objective(**call).gradient == 0, "a head that begins at 0 and is trained will move"


def test_a_student_that_is_its_teacher() -> None:
    call = given()
    call["teacher"] = FromHidden(call["hidden"], call["head"])
    alive = check_objective(**call)
    assert alive.same
    assert alive.gradient > 0, "cross entropy pulls"
    found = refusal_of({**call, "alpha": 1.0})
    assert found.rule == "objective-without-gradient"
    assert "student and teacher are identical" in found.headline


@pytest.mark.parametrize("whose", ["student", "teacher"])
def test_a_model_that_is_flat(whose: str) -> None:
    flat = torch.full((40, VOCABULARY), 5.0)
    call = given(places=40)
    if whose == "student":
        call |= {"hidden": flat, "head": None}
    else:
        call["teacher"] = FromHidden(flat, None)
    found = refusal_of(call)
    assert found.rule == "flat-logits"
    assert f"The {whose} gives all 301 tokens the same logit" in found.headline
    assert "ln(301) = 5.7071" in found.headline


def test_a_student_whose_head_begins_at_zero_is_not_called_flat() -> None:
    call = given(head=None, hidden=torch.zeros(70, VOCABULARY))
    assert check_objective(**call).uniform
    trained = Head(torch.zeros(VOCABULARY, WIDTH, requires_grad=True))
    assert check_objective(**given(head=trained)).uniform


@pytest.mark.parametrize(("end", "dead"), [(0.1, True), (2.0, False)])
def test_clamped_logits(end: float, dead: bool) -> None:
    call = given(head=None, hidden=torch.randn(70, VOCABULARY).clamp(-end, end))
    if dead:
        found = refusal_of(call)
        assert found.rule == "clamped-logits"
        assert found.headline.startswith("92.") or found.headline.startswith("91.")
        assert "exactly -0.1 or 0.1" in found.headline
    else:
        alive = check_objective(**call)
        assert 0.03 < alive.clamped < 0.06
        assert "% of logits at one value" in str(alive)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_model_that_says_no_numbers(value: float) -> None:
    call = given()
    call["hidden"][0, 0] = value
    found = refusal_of(call)
    assert found.rule == "loss-not-finite"
    assert "of the student are NaN or infinite" in found.headline
    assert "1 of 24" in found.facts[0].value


def test_nothing_is_left_behind() -> None:
    call = given()
    call["hidden"].requires_grad_()
    call["head"].weight.requires_grad_()
    before = call["hidden"].detach().clone()
    check_objective(**call)
    assert call["hidden"].grad is None
    assert call["head"].weight.grad is None
    assert torch.equal(call["hidden"], before)
