"""No negative id is made text of."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Watchpoint
from surefit.doctor.progress import steps_before_the_fault
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted

DECODE = Watchpoint(
    Place("transformers.tokenization_utils_base.PreTrainedTokenizerBase.decode"), ("token_ids",)
)


@dataclass(frozen=True, slots=True)
class NothingNegativeDecoded:
    """From the fault on, tokenizers decode no negative id; the others arrive as they are."""

    greatest: int
    """The greatest id that is decoded: that of the failing call, or the one to pad with."""

    @property
    def watchpoint(self) -> Watchpoint:
        return DECODE

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:
        at = steps_before_the_fault(before)
        ranges = [found for one in after.all(Passed) if (found := range_of(one, at)) is not None]
        if not ranges:
            return Judgement(False, "the patched run decoded no ids", False)
        least = min(low for low, _ in ranges)
        if least < 0:
            return Judgement(False, f"ids down to {least} are decoded")
        if not any(high == self.greatest for _, high in ranges):
            return Judgement(False, f"the greatest id that was decoded, {self.greatest}, is not")
        times = counted(len(ranges), "call")
        high = max(high for _, high in ranges)
        return Judgement(True, f"{times} of `decode` get ids from {least} to {high}, none negative")


def range_of(passed: Passed, at: int) -> tuple[int, int] | None:
    value = passed.values[0] if passed.watched == DECODE and passed.values else None
    if value is None or passed.step < at or value.least is None or value.greatest is None:
        return None
    return int(value.least), int(value.greatest)
