"""What every distillation loss is given: hidden states and heads of both models, and targets."""

from dataclasses import dataclass, replace

import torch

IGNORED = -100
BATCH, TOKENS, VOCABULARY = 4, 512, 50_257
WIDTH, TEACHER_WIDTH = 768, 1024
"""GPT-2's and GPT-2 medium's."""

TEMPERATURE = 2.0
ALPHA = 0.5


@dataclass(frozen=True, slots=True)
class Workload:
    """Places of a batch laid flat; targets stand at the places that predict them."""

    hidden: torch.Tensor
    weight: torch.Tensor
    teacher_hidden: torch.Tensor
    teacher_weight: torch.Tensor
    labels: torch.Tensor
    """-100 where nothing is learned."""

    @property
    def supervised(self) -> torch.Tensor:
        return self.labels != IGNORED

    @property
    def count(self) -> int:
        return int(self.supervised.sum())

    def first(self, places: int) -> "Workload":
        """A small one, so that a library's first call is not measured."""
        return replace(
            self,
            hidden=self.hidden.detach()[:places].clone().requires_grad_(),
            teacher_hidden=self.teacher_hidden[:places],
            labels=self.labels[:places],
        )


def make_workload(share: float) -> Workload:
    """The same numbers in every process; a `share` of the places is supervised."""
    torch.manual_seed(0)
    places = BATCH * TOKENS
    weight = (torch.randn(VOCABULARY, WIDTH) * 0.02).requires_grad_()
    teacher_weight = torch.randn(VOCABULARY, TEACHER_WIDTH) * 0.02
    hidden = torch.randn(places, WIDTH).requires_grad_()
    teacher_hidden = torch.randn(places, TEACHER_WIDTH)
    labels = torch.randint(0, VOCABULARY, (places,))
    left_out = torch.randperm(places)[int(places * share) :]
    labels[left_out] = IGNORED
    return Workload(hidden, weight, teacher_hidden, teacher_weight, labels)
