"""What autograd demands of a function with a backward of its own: a gradient for each input."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.findings import Place
from surefit.doctor.violations import Expression, Violation
from surefit.laws.case import Case, use_of
from surefit.source.reading import Source, called, dotted

ENGINE = "_engine_run_backward"
APPLIED = "torch/autograd/function.py"
TENSOR, NOTHING = "Tensor", "NoneType"


@dataclass(frozen=True, slots=True)
class InputOrGradient:
    """What a function was given, or what its backward returned for that."""

    kind: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    device: str = ""
    grad: bool = False
    name: str = ""

    @property
    def is_tensor(self) -> bool:
        return self.kind == TENSOR


@dataclass(frozen=True, slots=True)
class ReturnedGradients:
    """The last `backward` of the user's own that returned before the crash."""

    function: str
    file: str
    line: int
    inputs: tuple[InputOrGradient, ...]
    gradients: tuple[InputOrGradient, ...]

    @property
    def place(self) -> Place:
        return Place(self.file, self.line)


@dataclass(frozen=True, slots=True)
class SavedValues:
    """What the last `save_for_backward` with something else than tensors was given."""

    file: str
    line: int
    values: tuple[InputOrGradient, ...]


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """What a second run saw of such functions before the crash."""

    probe: ClassVar[str] = "own-function"

    returned: ReturnedGradients | None = None
    saved: SavedValues | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsDoNotFit(Violation):
    """Autograd takes one gradient for each input of `forward`, of its shape, and None for what is
    no tensor."""

    returned: ReturnedGradients
    number: int | None
    """Of the first input whose gradient does not fit; None where their number does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedNoTensor(Violation):
    """`save_for_backward` takes tensors and None."""

    saved: SavedValues
    numbers: tuple[int, ...]


def violations_of(case: Case) -> Iterator[Violation]:
    last = case.frames[-1] if case.frames else None
    if last is None or case.own is None or not case_has_functions(case):
        return
    in_engine = last.function == ENGINE
    if not in_engine and APPLIED not in last.place.file.replace("\\", "/"):
        return
    known = case.ask(OwnFunction)
    if known is None:
        return
    if in_engine and known.returned is not None:
        yield from of_gradients(case, known.returned)
    elif not in_engine and known.saved is not None:
        yield from of_saved(case, known.saved)


def of_gradients(case: Case, returned: ReturnedGradients) -> Iterator[Violation]:
    assert case.own is not None
    use = use_of(case.own)
    gradients, inputs = returned.gradients, returned.inputs
    beyond = gradients[len(inputs) :]
    if len(gradients) < len(inputs) or any(gradient.kind != NOTHING for gradient in beyond):
        yield GradientsDoNotFit(use=use, returned=returned, number=None)
        return
    for number, (taken, gradient) in enumerate(zip(inputs, gradients, strict=False)):
        if gradient.kind != NOTHING and not fits(taken, gradient):
            yield GradientsDoNotFit(use=use, returned=returned, number=number)
            return


def fits(taken: InputOrGradient, gradient: InputOrGradient) -> bool:
    """The engine sums what was broadcast and casts dtypes; more it does not do."""
    if not taken.is_tensor or not gradient.is_tensor:
        return False
    if not taken.grad:
        return True
    small, large = taken.shape[::-1], gradient.shape[::-1]
    pairs = zip(small, large, strict=False)
    summed = len(small) <= len(large) and all(size in (1, other) for size, other in pairs)
    return summed and taken.device == gradient.device


def of_saved(case: Case, saved: SavedValues) -> Iterator[Violation]:
    source = case.source(Place(saved.file, saved.line))
    numbers = tuple(
        number
        for number, value in enumerate(saved.values)
        if not value.is_tensor and value.kind != NOTHING
    )
    if source is not None and numbers:
        text = source.statement_at(saved.line)
        place = Place(saved.file, saved.line)
        use = Expression(place, None, source.segment(text) if text is not None else "")
        yield SavedNoTensor(use=use, saved=saved, numbers=numbers)


def case_has_functions(case: Case) -> bool:
    """Some file of the user's defines a subclass of `torch.autograd.Function`."""
    return any(any(own_functions(source)) for source in case.recording.sources())


def own_functions(source: Source) -> Iterator[ast.ClassDef]:
    for node in source.every(ast.ClassDef):
        if any(dotted(base).rpartition(".")[2] == "Function" for base in node.bases):
            yield node


def save_calls(source: Source, line: int) -> list[ast.Call]:
    statement = source.statement_at(line)
    nodes = ast.walk(statement) if statement is not None else ()
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return [call for call in calls if called(call) == "save_for_backward"]
