"""What a router does for distillation: trained for its student, or led to other experts."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from accelerate import Accelerator

from surefit.losses.distillation import head_distillation
from surefit.losses.divergence import Divergence
from surefit.losses.places import find_places
from surefit.losses.student import StudentLoss
from surefit.losses.teacher import FromHidden
from surefit.models.router_training import RouterTraining
from surefit.models.routers import all_experts
from surefit.train.ranks import Ranks
from surefit.train.step import to_device

from .distill_batches import Lesson
from .distill_teacher import Teaching


@dataclass(frozen=True, slots=True)
class RouterMoved:
    """What one step of the routers was."""

    divergence: float
    """KL(teacher ‖ student) before it, a mean over the supervised tokens of the step."""

    balance: float
    """How unevenly the experts were used: a mean over layers and batches."""

    norm: float
    """Of the gradients of all routers."""

    def as_record(self) -> dict[str, float]:
        return {f"router_{name}": value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class RouterStep:
    """A step of the routers, and of nothing else, towards what this student can follow.

    The distribution that is trained stands first: KL(teacher ‖ student), with a term that keeps all
    experts in use. All of them are active, so that all have a gradient.
    """

    teaching: Teaching
    training: RouterTraining
    student: StudentLoss
    weight_of_balance: float
    accelerator: Accelerator
    ranks: Ranks

    def __call__(self, lesson: Lesson) -> RouterMoved:
        divergence = balance = 0.0
        count = len(lesson.batches) * self.ranks.world
        with self.training.gathering() as choices, all_experts(self.training.routers):
            for one in lesson.batches:
                batch = to_device(self.accelerator, one)
                places = find_places(batch["labels"])
                with torch.no_grad(), self.accelerator.autocast():
                    listening = self.student.states(batch, places)
                choices.logits.clear()
                said = self.teaching.with_graph(batch, places)
                # The two change places: here the teacher is the one that learns.
                apart = head_distillation(
                    said.hidden,
                    said.head,
                    FromHidden(listening, self.student.head),
                    places.targets,
                    Divergence("reverse-kl"),
                    alpha=1.0,
                ).loss
                uneven = choices.balance(batch["attention_mask"])
                loss = apart / lesson.places + self.weight_of_balance * uneven / count
                loss.backward()
                divergence += float(apart.detach()) / lesson.places
                balance += float(uneven.detach()) / count
            norm = self.training.step(self._summed)
        divergence, balance = self.ranks.summed(divergence, balance)
        return RouterMoved(divergence, balance, norm)

    def state_dict(self) -> dict[str, Any]:
        return self.training.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.training.load_state_dict(state)

    def _summed(self, gradient: torch.Tensor) -> torch.Tensor:
        summed: torch.Tensor = self.accelerator.reduce(gradient, reduction="sum")
        return summed
