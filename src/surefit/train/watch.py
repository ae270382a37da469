"""Ends a run that is dead: nothing in it moves any more, or one of its parts never did."""

import math
from dataclasses import dataclass, field

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .lost_updates import ADAM_EPSILON

GRADIENTS_ZERO = refusal(
    "SF075", "gradients-all-zero", "A step has no gradient at all, and the loss is not 0."
)
UNIFORM = refusal(
    "SF076", "loss-stays-uniform", "The loss stays that of a uniform distribution, and none moves."
)
UNHEARD = refusal("SF077", "teacher-not-heard", "The divergence from the teacher is exactly 0.")
ALL_SKIPPED = refusal("SF078", "every-step-skipped", "The gradient scaler skips every step.")

LEARNED = 1e-4
"""Of a loss: below it a batch is known by heart, and in fp16 its gradients are rightly 0."""

STILL = ADAM_EPSILON
"""Of a gradient's length: below it no single number of it makes Adam take half of a step."""

UNIFORM_STEPS = 3
MOST_SKIPPED = 40
"""In a row. Begun at 65,536 the scale is 6e-08 then: gradients that overflow fp16's 65,504 even so
are above 1e12, or no numbers at all. Some ten at the start are usual."""

LOWER_RATE = Fix("Start again with a lower `--learning-rate`.")

SAME_STEPS = 20
"""In which a student that began as its teacher must come apart from it: in bf16 the first steps
can be too small to change a logit."""


@dataclass(frozen=True, slots=True)
class Part:
    """One term of a loss, as a mean over places and before its weight."""

    value: float
    weight: float


@dataclass(slots=True)
class Watch:
    """Is told of each step after it was taken; all numbers are those of all processes together.

    A loss that is not finite is left to the recipe, which knows the rows of the step.
    """

    vocabulary: int | None
    """Tokens, or classes, that a prediction is over; None where the loss is over no classes."""
    place: Place
    same: bool = False
    """Whether student and teacher began as the same, as `Alive.same` has it: their divergence is
    rightly 0 until the student has moved."""

    zero_since: int | None = field(default=None, init=False)
    uniform: int = field(default=0, init=False)
    unheard: int = field(default=0, init=False)
    skipped: int = field(default=0, init=False)
    """How many steps in a row."""

    def see(
        self,
        step: int,
        *,
        loss: float,
        norm: float,
        cross_entropy: Part,
        divergence: Part | None = None,
        skipped: bool = False,
    ) -> None:
        """Raises `BadInput` with the reason if the run is dead."""
        self.skipped = self.skipped + 1 if skipped else 0
        if self.skipped >= MOST_SKIPPED:
            raise BadInput(self._all_skipped(step, norm))
        if not math.isfinite(loss):
            return
        if divergence is not None:
            self._hear(step, norm, cross_entropy, divergence)
        if not skipped and math.isfinite(norm):
            self._feel(step, loss, norm)
            self._compare(step, norm, cross_entropy)

    def _hear(self, step: int, norm: float, cross_entropy: Part, divergence: Part) -> None:
        if divergence.weight == 0 or divergence.value != 0:
            self.unheard = 0
        elif cross_entropy.value >= LEARNED:  # else both know the batch by heart, and 0 is right
            self.unheard += 1
            if self.same and norm == 0:
                raise BadInput(self._already_there(step))
            if not self.same or self.unheard >= SAME_STEPS:
                raise BadInput(self._unheard(step, cross_entropy, divergence))

    def _feel(self, step: int, loss: float, norm: float) -> None:
        if norm != 0:
            self.zero_since = None
            return
        self.zero_since = self.zero_since or step
        if loss >= LEARNED:
            raise BadInput(self._all_zero(step, loss))

    def _compare(self, step: int, norm: float, cross_entropy: Part) -> None:
        if self.vocabulary is None:
            return
        level = math.log(self.vocabulary)
        near = abs(cross_entropy.value - level) <= 1e-4 * level
        self.uniform = self.uniform + 1 if near and norm < STILL else 0
        if self.uniform >= UNIFORM_STEPS:
            raise BadInput(self._stays_uniform(step, norm, cross_entropy))

    def _all_zero(self, step: int, loss: float) -> Finding:
        since = self.zero_since
        return GRADIENTS_ZERO.finding(
            self.place,
            f"All gradients have been exactly zero since step {since}: the run stopped after step "
            f"{step}.",
            facts=[Fact("loss", self._beside_uniform(loss)), Fact("gradient norm", "0")],
            why="With a gradient of 0 no optimizer changes a weight. "
            + (
                "Earlier gradients were not 0: a learning rate that is too high has moved the "
                "weights "
                "to where every activation is saturated or dead."
                if step > 1
                else "The loss does not depend on the trained weights: a clamp, a detach or a "
                "lack of "
                "precision cuts the graph."
            ),
            fixes=[
                *([LOWER_RATE] if step > 1 else []),
                Fix("Try `--precision fp32`: in fp16 small gradients underflow to 0."),
                Fix("Test losses and scaler on this device:  surefit check --self-test"),
            ],
        )

    def _beside_uniform(self, loss: float) -> str:
        """With the loss of a uniform distribution beside it, where it is that."""
        level = math.log(self.vocabulary) if self.vocabulary else math.inf
        is_uniform = abs(loss - level) <= 1e-4 * level < math.inf
        return f"{loss:.6f}" + (f", that is ln({self.vocabulary})" if is_uniform else "")

    def _stays_uniform(self, step: int, norm: float, cross_entropy: Part) -> Finding:
        return UNIFORM.finding(
            self.place,
            f"The cross entropy has been {cross_entropy.value:.4f} = ln({self.vocabulary}) for "
            f"{self.uniform} steps, and the gradient norm is {norm:.1e}.",
            facts=[
                Fact("weighted in the loss", f"{cross_entropy.weight * cross_entropy.value:.4f}"),
                Fact("stopped after", f"step {step}"),
            ],
            why="The model gives every token the same probability for any input, and a gradient "
            f"below {STILL:g} (Adam's epsilon) is too small to change that.",
            fixes=[
                LOWER_RATE,
                Fix("Find what makes all logits equal, such as a clamp or an untrained head."),
            ],
        )

    def _unheard(self, step: int, cross_entropy: Part, divergence: Part) -> Finding:
        steps = f" for {self.unheard} steps" if self.unheard > 1 else ""
        return UNHEARD.finding(
            self.place,
            f"The divergence from the teacher is exactly 0{steps}, at step {step}; its weight in "
            "the "
            f"loss is {divergence.weight:g}.",
            facts=[
                Fact("cross entropy", f"{cross_entropy.value:.4f}, weight {cross_entropy.weight:g}")
            ],
            why="Two different models never agree to the last bit: the teacher's output does not "
            "reach the loss, and the student would learn from the rows only.",
            fixes=[
                Fix("Check that teacher and student are different models."),
                Fix("Test the loss on this device:  surefit check --self-test"),
            ],
        )

    def _already_there(self, step: int) -> Finding:
        return UNHEARD.finding(
            self.place,
            f"At step {step} the student's output equals the teacher's to the last bit: divergence "
            "and gradient are exactly 0.",
            why="Both start with the same weights, so there is nothing to learn from the teacher.",
            fixes=[
                Fix("Use another teacher:  --teacher"),
                Fix("Or add cross entropy to the loss:  --alpha below 1"),
            ],
        )

    def _all_skipped(self, step: int, norm: float) -> Finding:
        return ALL_SKIPPED.finding(
            self.place,
            f"The gradient scaler skipped {self.skipped} steps in a row, up to step {step}: no "
            "weight "
            "has changed since.",
            facts=[
                Fact("gradient norm", f"{norm}"),
                Fact(
                    "its scale",
                    f"halved {self.skipped} times, to {0.5**self.skipped:.0e} of its initial value",
                ),
            ],
            why="The scaler halves its scale after each skipped step, and no finite gradient "
            "overflows "
            "at this scale: the gradients are NaN or infinite, although the loss is finite.",
            fixes=[Fix("Train with `--precision bf16` or `--precision fp32`.")],
        )
