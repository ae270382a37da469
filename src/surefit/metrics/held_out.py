"""How well a student, beside its teacher, predicts held-out tokens."""

from dataclasses import dataclass

from .perplexity import Perplexity


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Means over the supervised tokens of all held-out rows, none left out and none clamped."""

    cross_entropy: float
    """In nats; perplexity is its exponential."""

    teacher_cross_entropy: float | None
    """None where it is not known: what was kept of the teacher does not tell it."""

    divergence: float
    """KL(teacher ‖ student) at temperature 1, in nats."""

    agreement: float
    """The share of places at which both hold the same token for the most likely."""

    tokens: int
    batches: int
    """All of them were evaluated: one that fails ends the run."""

    @property
    def perplexity(self) -> Perplexity:
        return Perplexity(self.cross_entropy * self.tokens, self.tokens)

    @property
    def teacher_perplexity(self) -> Perplexity | None:
        known = self.teacher_cross_entropy
        return None if known is None else Perplexity(known * self.tokens, self.tokens)

    def beside_teacher(self) -> str:
        teacher = self.teacher_perplexity
        known = "" if teacher is None else f"teacher ppl {teacher}, "
        return f"{known}KL {self.divergence:.4f}, same top token {self.agreement:.1%}"
