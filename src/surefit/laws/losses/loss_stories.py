"""How a tensor came to be, as a second run told it."""

from dataclasses import dataclass

import msgspec

from surefit.doctor.observations import Operation, Question
from surefit.doctor.recording import Recording

OF_LOSS = "story-of-loss"


@dataclass(frozen=True, slots=True)
class LossStory:
    """The operations that a loss was made by, newest first, as far as gradients pass them."""

    operations: tuple[Operation, ...]
    parameters: int
    """How many a gradient could reach from the loss."""
    past_clamps: int
    """How many of them by a way on which no clamp holds back every element."""

    def by_serial(self, serial: int) -> Operation | None:
        return next((one for one in self.operations if one.serial == serial), None)


def story_of_loss(seen: Recording, step: int, beside: bool = False) -> LossStory | None:
    """Of the loss of the step after so many; None as long as no second run has told it. Beside:
    with the tensors that take part and get no gradient, targets among them."""
    about = {"step": step, "beside": True} if beside else {"step": step}
    said = seen.ask(Question(OF_LOSS, "", about))
    return msgspec.convert(said, LossStory, strict=False) if said is not None else None


def plain_name(name: str) -> str:
    bare = name.strip("_")
    for start in ("i", "r"):  # `__iadd__`, `__radd__`
        if name.startswith(f"__{start}") and bare[1:] in ARITHMETIC:
            return bare[1:]
    return bare


ARITHMETIC = ("add", "sub", "mul", "div", "truediv", "pow", "matmul", "floordiv", "mod")
