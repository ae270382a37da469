"""A step of the routers moves nothing else, and brings the teacher nearer to its student."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from accelerate import Accelerator

from surefit.data.batches import PadRows
from surefit.data.row import IGNORED
from surefit.losses.divergence import Divergence
from surefit.losses.places import find_places, supervised_places
from surefit.losses.student import StudentLoss
from surefit.models.router_training import RouterTraining
from surefit.models.routers import all_experts, find_routers
from surefit.recipes.distill_batches import Lesson
from surefit.recipes.distill_router import RouterMoved, RouterStep
from surefit.recipes.distill_teacher import Teaching
from surefit.train.ranks import Ranks
from surefit.train.teacher import Teacher
from tiny_models import VOCABULARY, tiny


def row(length: int, prompt: int, seed: int) -> dict[str, list[int]]:
    numbers = torch.Generator().manual_seed(seed)
    ids = torch.randint(2, VOCABULARY, (length,), generator=numbers).tolist()
    return {"input_ids": ids, "labels": [IGNORED] * prompt + ids[prompt:]}


Made = tuple[RouterStep, Teaching, Lesson]


def made(balance: float = 0.0, rate: float = 1e-3) -> Made:
    teacher = Teacher(tiny("qwen3-moe"))
    routers = find_routers(teacher.model)
    training = RouterTraining(routers, rate)
    teaching = Teaching(VOCABULARY, "", teacher, routers=routers, training=training)
    student = StudentLoss(tiny("llama"), teaching.voice, Divergence("reverse-kl"), 1.0, VOCABULARY)
    batches = [PadRows(pad_id=0)([row(9, 2, 4), row(6, 1, 5)]), PadRows(pad_id=0)([row(7, 0, 6)])]
    places = sum(supervised_places(batch["labels"]) for batch in batches)
    lesson = Lesson(batches, places, own=False, tokens=22)
    step = RouterStep(teaching, training, student, balance, Accelerator(cpu=True), Ranks())
    return step, teaching, lesson


@pytest.fixture
def parts() -> Made:
    return made()


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def changed(model: Any, before: dict[str, torch.Tensor]) -> set[str]:
    return {
        name for name, value in model.state_dict().items() if not torch.equal(value, before[name])
    }


def test_routers_alone_change(parts: Made) -> None:
    step, teaching, lesson = parts
    assert teaching.teacher is not None
    teacher, student = teaching.teacher.model, step.student.model
    before, of_student = weights(teacher), weights(student)
    moved = step(lesson)
    assert isinstance(moved, RouterMoved)
    assert changed(teacher, before) == {f"{router.name}.weight" for router in teaching.routers}
    assert changed(student, of_student) == set()
    assert not any(parameter.requires_grad for parameter in teacher.parameters())
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert all(parameter.grad is None for parameter in student.parameters())


def apart(step: RouterStep, lesson: Lesson) -> float:
    """KL(teacher ‖ student) with all experts, by the models' own logits."""
    teacher = step.teaching.teacher
    assert teacher is not None
    total = 0.0
    with torch.no_grad(), all_experts(step.training.routers):
        for batch in lesson.batches:
            places = find_places(batch["labels"])
            given = {name: batch[name] for name in ("input_ids", "attention_mask")}
            log_p = places.of(teacher.model(**given).logits).double().log_softmax(-1)
            log_q = places.of(step.student.model(**given).logits).double().log_softmax(-1)
            total += float((log_p.exp() * (log_p - log_q)).sum())
    return total / lesson.places


def test_the_divergence_falls_with_every_step(parts: Made) -> None:
    step, _, lesson = parts
    for _ in range(5):
        before = apart(step, lesson)
        assert step(lesson).divergence == pytest.approx(before, rel=1e-4)
        assert apart(step, lesson) < before


def test_balance_evens_out_the_use_of_experts() -> None:
    step, _, lesson = made(balance=100.0, rate=1e-2)
    figures = [step(lesson).balance for _ in range(20)]
    assert figures[-1] < figures[0]


def test_the_teacher_that_was_loaded_can_be_had_back(parts: Made) -> None:
    step, teaching, lesson = parts
    assert teaching.teacher is not None
    before = weights(teaching.teacher.model)
    step(lesson)
    with step.training.own_routers():
        assert changed(teaching.teacher.model, before) == set()
    assert len(changed(teaching.teacher.model, before)) == len(teaching.routers)


def test_a_step_that_goes_on_from_a_saved_one_is_the_same() -> None:
    one, _, lesson = made()
    other, _, _ = made()
    one(lesson)
    state = deepcopy(one.state_dict())
    one(lesson)
    other.load_state_dict(state)
    other(lesson)
    for first, second in zip(one.training.weights, other.training.weights, strict=True):
        assert torch.equal(first, second)


def test_weights_of_half_precision_collect_small_steps() -> None:
    """At a rate of 1e-6 a bf16 weight of 0.1 would never move; its fp32 copy does."""
    teacher = Teacher(tiny("qwen3-moe").to(torch.bfloat16))
    routers = find_routers(teacher.model)
    training = RouterTraining(routers, 1e-6)
    first = [weight.clone() for weight in training.weights]
    for _ in range(3):
        for weight in training.weights:
            weight.grad = torch.ones_like(weight)
        training.step(lambda gradient: gradient)
    for copy, start in zip(training.copies, first, strict=True):
        assert copy.dtype == torch.float32
        torch.testing.assert_close(copy, start.float() - 3e-6, rtol=0, atol=2e-8)
