"""A tensor that NumPy cannot take as it is was made an array: it has a graph, or another dtype.

## What happens
`tensor.numpy()` shares memory with the tensor, so that it refuses one that gradients are recorded
for, one that lies on a GPU, and one whose dtype NumPy does not have (bfloat16). `np.mean`,
`np.array`, metrics and plots call it too, for each tensor in a list that they are given.

## Why it matters
It comes with the first evaluation, after the training before it. A list of losses with their graphs
also keeps the memory of every step alive until then.

## What to do
`.detach()` leaves the graph behind, `.cpu()` the GPU, `.float()` bfloat16; `loss.item()` gives a
single number. Around an evaluation, `torch.no_grad()` records no graph in the first place.

## How it is recognised
`Tensor.numpy` or `Tensor.__array__` failed, and the tensor requires gradients, is bfloat16 or lies
on another device than the CPU.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, spoken
from surefit.laws.value_words import in_words
from surefit.source.edits import appended
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF505",
    "tensor-not-ready-for-numpy",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Can't call numpy\(\) on Tensor that requires grad|unsupported ScalarType BFloat16"
            r"|can't convert \w+(:\d+)? device type tensor to numpy",
            "whether the tensor requires gradients, is bfloat16 or lies on another device",
        ),
    ),
)

NAMELESS = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
"""Types of numbers that NumPy does not have."""
KEEPS = ("cpu", "squeeze", "unsqueeze", "flatten", "reshape", "view", "contiguous", "clone")
"""Methods that neither leave the graph nor the dtype."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A tensor that was to become an array, and the user's words for it."""

    frame: Frame
    source: Source
    node: ast.expr
    """The tensor or the list of tensors."""
    value: Value
    """Of the tensor, or of one that it is made of."""
    exact: bool
    """The value is that of the tensor itself."""
    in_list: bool = False

    @property
    def text(self) -> str:
        return " ".join(self.source.segment(self.node).split())


@RULE.on(Crash)
def a_tensor_could_not_become_an_array(crash: Crash, seen: Recording) -> Iterator[Finding]:
    taken = taken_in(crash, seen) if is_cause(crash, seen) else None
    needs = list(needed(taken.value)) if taken else []
    if taken is None or not needs:
        return
    kept = appending(taken) if taken.in_list else None
    place = taken.frame.place
    if kept is not None:
        place = Place(taken.source.file, kept.lineno, kept.end_lineno)
    yield RULE.finding(
        place,
        headline(taken, needs),
        facts=tuple(facts(taken, place)),
        why=why(taken, needs),
        fixes=tuple(fixes(crash, taken, needs, kept, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def taken_in(crash: Crash, seen: Recording) -> Taken | None:
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    node = source.expression_at(frame.span) if source and frame and frame.span else None
    if frame is None or source is None or not isinstance(node, ast.Call):
        return None
    if frame is crash.frames[-1]:
        return called_numpy(frame, source, node)
    last = crash.frames[-1]
    tensor = next(
        (one for one in last.values if one.text == "self" and one.shape is not None), None
    )
    if last.function != "Tensor.__array__" or tensor is None:
        return None
    return given(frame, source, node, tensor)


def called_numpy(frame: Frame, source: Source, node: ast.Call) -> Taken | None:
    """`logits.numpy()`; of `torch.sigmoid(logits).numpy()` the tensor inside is known."""
    if called(node) != "numpy" or not isinstance(node.func, ast.Attribute) or node.args:
        return None
    tensor = node.func.value
    inner = tensor
    while isinstance(inner, ast.Call) and called(inner) in KEEPS and not inner.args:
        assert isinstance(inner.func, ast.Attribute)
        inner = inner.func.value
    value = value_of(frame, inner)
    if value is not None and value.shape is not None:
        return Taken(frame, source, tensor, value, exact=True)
    parts = [value_of(frame, one) for one in ast.walk(tensor) if isinstance(one, ast.expr)]
    for one in parts:
        if (
            one is not None
            and one.shape is not None
            and one.device is not None
            and any(needed(one))
        ):
            return Taken(frame, source, tensor, one, exact=False)
    return None


def given(frame: Frame, source: Source, node: ast.Call, tensor: Value) -> Taken | None:
    """The argument that is the tensor or a list with it; the only one, where it has no name."""
    for one in node.args:
        value = value_of(frame, one)
        if value is not None and value.identity == tensor.identity:
            return Taken(frame, source, one, tensor, exact=True)
        if value is not None and value.kind in ("list", "tuple"):
            return Taken(frame, source, one, tensor, exact=True, in_list=True)
    if len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        return Taken(frame, source, node.args[0], tensor, exact=True)
    return None


def value_of(frame: Frame, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    return next((one for one in frame.values if one.text == text), None)


def needed(value: Value) -> Iterator[str]:
    """What must be done before NumPy can take it."""
    if value.requires_grad:
        yield ".detach()"
    if value.dtype in NAMELESS:
        yield ".float()"
    if value.device not in (None, "cpu"):
        yield ".cpu()"


REASONS = {
    ".detach()": "gradients are recorded for it",
    ".float()": "NumPy has no such dtype",
    ".cpu()": "it is not in the memory of the CPU",
}


def headline(taken: Taken, needs: list[str]) -> str:
    reasons = spoken(reason_of(one, taken.value) for one in needs)
    if taken.in_list:
        return f"A tensor in `{taken.text}` cannot become an array: {reasons}."
    return f"`{taken.text}` cannot become an array: {reasons}."


def reason_of(need: str, value: Value) -> str:
    if need == ".float()":
        return f"NumPy has no {value.dtype}"
    return REASONS[need] if need == ".detach()" else f"it is on {value.device}"


def facts(taken: Taken, place: Place) -> Iterator[Fact]:
    said = in_words(taken.value) + (", with a graph" if taken.value.requires_grad else "")
    name = "its first tensor" if taken.in_list else code(taken.text)
    yield Fact(name if taken.exact else f"`{taken.value.text}`", said)
    if place.line != taken.frame.place.line:
        yield Fact("made an array at", f"{taken.frame.place}  {taken.frame.line}")


def why(taken: Taken, needs: list[str]) -> str:
    if ".detach()" not in needs:
        return "An array shares memory with its tensor, and NumPy must be able to read it."
    if taken.in_list:
        return "Each tensor was kept with the graph that made it, and with that graph's memory."
    return (
        "The model was called while gradients were recorded; around an evaluation,"
        " `torch.no_grad()` records none."
    )


def appending(taken: Taken) -> ast.Call | None:
    """`history.append(loss)`: the one call that fills the list."""
    source, name = taken.source, ast.unparse(taken.node)
    found = [
        call
        for call in source.every(ast.Call)
        if called(call) == "append"
        and isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func.value) == name
        and len(call.args) == 1
    ]
    return found[0] if len(found) == 1 else None


def fixes(
    crash: Crash, taken: Taken, needs: list[str], kept: ast.Call | None, seen: Recording
) -> Iterator[Fix]:
    if taken.in_list:
        yield from in_lists(crash, taken, needs, kept, seen)
        return
    if goes_into_a_loss(taken):
        yield Fix(
            "Write what is computed with NumPy here in torch: no gradient passes an array.",
            why_not_tried="`.detach()` would train nothing: `backward` is called on what comes of"
            " this array",
        )
        return
    words = "".join(needs)
    edit: Edit
    if called_at(taken):
        edit = appended(taken.source, taken.node, words)
    else:
        words += "" if ".cpu()" in words else ".cpu()"
        words += ".numpy()"
        edit = appended(taken.source, taken.node, words)
    yield Fix(f"`{taken.text}{words}`: the same numbers.", edit, same_values(crash, taken, seen))


def goes_into_a_loss(taken: Taken) -> bool:
    """`backward` is called on something that is made of the array, in the same function."""
    source = taken.source
    scope = source.scope_of(taken.node)
    statements = [one for one in source.every(ast.Assign) if source.scope_of(one) is scope]
    tainted = names_bound(source.statement_of(taken.node))
    for _ in statements:
        for one in statements:
            if names_read(one.value) & tainted:
                tainted |= names_bound(one)
    return any(
        called(call) == "backward"
        and isinstance(call.func, ast.Attribute)
        and bool(names_read(call.func.value) & tainted)
        for call in source.every(ast.Call)
        if source.scope_of(call) is scope
    )


def names_bound(statement: ast.stmt) -> set[str]:
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def names_read(node: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def called_at(taken: Taken) -> bool:
    parent = taken.source.parents.get(taken.node)
    return isinstance(parent, ast.Attribute) and parent.attr == "numpy"


def same_values(crash: Crash, taken: Taken, seen: Recording) -> Condition:
    at = crash.frames.index(taken.frame)
    text = taken.value.text
    if text == "self" and crash.frames[-1].function == "Tensor.__array__":
        at = len(crash.frames) - 1
    if taken.exact and not crash.swallowed:
        asked = Question("as-arrays", crash.id, {"frame": at, "text": text})
        if seen.ask(asked) is not None:
            return ReExecuted(asked, "the tensor's values and the array's")
    wanted = Wanted(text, shape=taken.value.shape, dtype=taken.value.dtype)
    return ValuesAt(taken.frame.place, (wanted,))


def in_lists(
    crash: Crash, taken: Taken, needs: list[str], kept: ast.Call | None, seen: Recording
) -> Iterator[Fix]:
    single = taken.value.shape in ((), (1,))
    words = ".item()" if single else "".join(needs) + ("" if ".cpu()" in needs else ".cpu()")
    if kept is None:
        yield Fix(
            f"Keep `{words}` of each tensor in `{taken.text}`, where the list is filled.",
            why_not_tried="the line that fills the list was not found",
        )
        return
    about = {"frame": crash.frames.index(taken.frame), "text": ast.unparse(taken.node)}
    asked = Question("as-arrays", crash.id, about)
    seen.ask(asked)
    text = " ".join(taken.source.segment(kept.args[0]).split())
    count = value_of(taken.frame, taken.node)
    length = counted(count.length, "tensor") if count and count.length else "tensors"
    yield Fix(
        f"Keep `{text}{words}`, the number without its graph."
        if single
        else f"Keep `{text}{words}`, the values without their graph.",
        appended(taken.source, kept.args[0], words),
        ReExecuted(asked, f"the values of {length} and the numbers kept of them"),
    )
