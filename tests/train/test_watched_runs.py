"""Real runs of a tiny student under the watch: none is ended but the dead ones, and those soon."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from surefit.doctor.findings import Place
from surefit.errors import BadInput
from surefit.losses.distillation import FromHidden, head_distillation
from surefit.losses.divergence import Divergence
from surefit.train.device import make_accelerator
from surefit.train.liveness import check_objective
from surefit.train.watch import MOST_SKIPPED, Part, Watch

VOCABULARY, WIDTH, PLACES = 50, 12, 24


class Tiny(nn.Module):
    """A token in, logits of the next one out."""

    def __init__(self, seed: int, *, fault: str = "") -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.fault = fault

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.table(tokens))
        if self.fault == "clamped":
            return logits.clamp(1e4, 1e4)
        if self.fault == "NaN on the way back":
            logits.register_hook(lambda gradient: gradient * torch.nan)
        return logits


@dataclass(frozen=True)
class Setup:
    """What is trained, and how."""

    student: Tiny
    teacher: Tiny
    alpha: float = 0.5
    precision: str = "fp32"
    rate: float = 1e-2
    places: int = PLACES


def train(setup: Setup, steps: int) -> tuple[float, float]:
    """The divergence before the first step and before the last; raises what the watch raises."""
    accelerator = make_accelerator(setup.precision)
    optimizer = torch.optim.AdamW(setup.student.parameters(), lr=setup.rate, weight_decay=0.0)
    student, stepper = accelerator.prepare(setup.student, optimizer)
    random = torch.Generator().manual_seed(0)
    divergences = []
    watch: Watch | None = None
    for step in range(1, steps + 1):
        tokens, targets = torch.randint(0, VOCABULARY, (2, setup.places), generator=random)
        with torch.no_grad(), accelerator.autocast():
            said = setup.teacher(tokens).float()
        logits = student(tokens)
        call = (FromHidden(said, None), targets, Divergence(), setup.alpha)
        if watch is None:
            same = False if setup.student.fault else check_objective(logits, None, *call).same
            watch = Watch(VOCABULARY, Place("run"), same)
        found = head_distillation(logits, None, *call)
        entropy, apart = found.cross_entropy.item(), found.divergence.item()
        accelerator.backward(found.loss / setup.places)
        norm = float(accelerator.clip_grad_norm_(student.parameters(), 1.0))
        stepper.step()
        stepper.zero_grad()
        watch.see(
            step,
            loss=found.loss.item() / setup.places,
            norm=norm,
            cross_entropy=Part(entropy / setup.places, 1 - setup.alpha),
            divergence=Part(apart / setup.places, setup.alpha),
            skipped=accelerator.optimizer_step_was_skipped,
        )
        divergences.append(apart / setup.places)
    return divergences[0], divergences[-1]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_student_that_learns_all_of_its_teacher(precision: str) -> None:
    before, after = train(Setup(Tiny(1), Tiny(2), alpha=1.0, precision=precision, rate=5e-2), 200)
    assert after < before / 100


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_student_that_begins_as_its_teacher(precision: str) -> None:
    _, after = train(Setup(Tiny(1), Tiny(1), precision=precision), 30)
    assert after > 1e-4, "cross entropy pulls it away"


def test_a_student_that_begins_as_its_teacher_and_hardly_moves() -> None:
    train(Setup(Tiny(1), Tiny(1), precision="bf16", rate=1e-5), 30)


def test_batches_of_a_single_place() -> None:
    train(Setup(Tiny(1), Tiny(2), places=1), 30)


def test_a_student_behind_a_clamp_ends_at_its_first_step() -> None:
    with pytest.raises(BadInput, match="All gradients have been exactly zero since step 1"):
        train(Setup(Tiny(1, fault="clamped"), Tiny(2)), 5)


def test_gradients_that_are_never_numbers_end_when_the_scale_is_nothing() -> None:
    with pytest.raises(BadInput, match=f"skipped {MOST_SKIPPED} steps in a row"):
        train(Setup(Tiny(1, fault="NaN on the way back"), Tiny(2), precision="fp16"), 60)


def test_a_student_that_is_its_teacher_and_hears_nothing_else_does_not_begin() -> None:
    with pytest.raises(BadInput, match="student and teacher are identical"):
        train(Setup(Tiny(1), Tiny(1), alpha=1.0), 5)
