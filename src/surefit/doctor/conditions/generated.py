"""A model generates more than it was given."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs, passed_at
from surefit.doctor.findings import Place
from surefit.doctor.observations import Watchpoint
from surefit.doctor.recording import Recording


@dataclass(frozen=True, slots=True)
class GeneratedMore:
    """What a line of the user's generates is longer than the prompt that was given there."""

    place: Place
    text: str
    """The name of what is generated."""
    prompt: int
    """Tokens of the prompt."""

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (self.text,), after=True)

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        came = passed_at(self.watchpoint, after)
        shapes = [value.shape for one in came for value in one.values if value.shape]
        if not shapes:
            return Judgement(False, f"`{self.text}` was not seen at {self.place}", False)
        length = max(shape[-1] for shape in shapes)
        said = f"`{self.text}` is up to {length:,} tokens long, the prompt was {self.prompt:,}"
        return Judgement(length > self.prompt, said)
