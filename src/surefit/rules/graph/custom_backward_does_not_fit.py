"""The backward of a custom autograd function does not return one gradient for each input.

## What happens
`backward` of a `torch.autograd.Function` returns as many values as `forward` has inputs after
`ctx`, in their order: a gradient of the same shape for a tensor, and None for everything else, such
as a number of bits or a flag. `save_for_backward` takes tensors only. Python checks none of this;
autograd does, when the first backward pass comes to the function.

## Why it matters
The exception comes from `loss.backward()` and names neither the line of the `return` nor the input
that has no gradient.

## What to do
Return None for each input that is no tensor or needs no gradient; `reshape_as` the input where the
shape differs; keep numbers as attributes: `ctx.n_bits = n_bits`.

## How it is recognised
A second run notes what each function of your own was given, what it saved and what its `backward`
returned. The last one before the crash is held against what autograd takes: the number, tensors
for tensors, and shapes, where gradients that were broadcast are summed and dtypes are cast.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.own_functions import (
    NOTHING,
    GradientsDoNotFit,
    InputOrGradient,
    ReturnedGradients,
    SavedNoTensor,
    save_calls,
)
from surefit.remedies.change import Change
from surefit.source.edits import appended, both, inserted_after, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source, called
from surefit.source.selection import nodes_within, the_only

RULE = Rule(
    "SF986",
    "custom-backward-does-not-fit",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            "returned an incorrect number of gradients|returned an invalid gradient at index"
            "|gradient different from None at position|save_for_backward can only save",
            "which input of `forward` has no gradient that fits",
        ),
    ),
)


@RULE.on(GradientsDoNotFit)
def backward_returns_other_gradients(broken: GradientsDoNotFit, case: Case) -> Finding:
    returned, number = broken.returned, broken.number
    source = case.source(returned.place)
    line = return_in(source, returned) if source is not None else None
    place = Place(returned.file, line.lineno) if line is not None else returned.place
    said = wrong_number(returned) if number is None else wrong_gradient(returned, number)
    return case.finding(
        place,
        said,
        facts=(
            *(Fact(f"`{name_of(returned, at)}`", words(taken)) for at, taken in each(returned)),
            Fact("returned", spoken(words(gradient) for gradient in returned.gradients)),
            Fact("raised at", f"{broken.use.place}  {broken.use.text}"),
        ),
        why="Autograd takes the returned values for the inputs of `forward` in their order: a"
        " gradient of the input's shape, or None for what needs none.",
        remedies=tuple(remedies(broken, source, line)),
    )


def each(returned: ReturnedGradients) -> Iterator[tuple[int, InputOrGradient]]:
    return iter(enumerate(returned.inputs))


def name_of(returned: ReturnedGradients, number: int) -> str:
    return returned.inputs[number].name or f"input {number + 1}"


def words(value: InputOrGradient) -> str:
    if value.is_tensor:
        return f"{value.dtype} {shape_of(value.shape)}"
    return "None" if value.kind == NOTHING else value.kind


def wrong_number(returned: ReturnedGradients) -> str:
    inputs, have = len(returned.inputs), len(returned.gradients)
    names = spoken(code(name_of(returned, at)) for at in range(inputs))
    said = (
        f"`{returned.function}.backward` returns {counted(have, 'gradient')} for the"
        f" {counted(inputs, 'input')} of its `forward` ({names})"
    )
    missing = [code(name_of(returned, at)) for at in range(have, inputs)]
    return f"{said}: none for {spoken(missing)}." if missing else f"{said}."


def wrong_gradient(returned: ReturnedGradients, number: int) -> str:
    taken, gradient = returned.inputs[number], returned.gradients[number]
    name = code(name_of(returned, number))
    if not taken.is_tensor:
        return (
            f"`{returned.function}.backward` returns a gradient for {name}, which is no tensor but"
            f" {words(taken)}: it must return None there."
        )
    return (
        f"`{returned.function}.backward` returns {words(gradient)} as the gradient of {name}, which"
        f" is {words(taken)}."
    )


def return_in(source: Source, returned: ReturnedGradients) -> ast.Return | None:
    """The `return` of the `backward`; of several, the only one with as many values."""
    functions = [
        node
        for node in source.every(ast.FunctionDef)
        if node.name == "backward" and first_line(node) == returned.line
    ]
    found = [node for function in functions for node in nodes_within(function, ast.Return)]
    fitting = [node for node in found if len(values_of(node)) == len(returned.gradients)]
    return fitting[0] if len(fitting) == 1 else the_only(found)


def first_line(node: ast.FunctionDef) -> int:
    """As a code object counts: with decorators."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def values_of(line: ast.Return) -> list[ast.expr]:
    if isinstance(line.value, ast.Tuple):
        return list(line.value.elts)
    return [line.value] if line.value is not None else []


def remedies(
    broken: GradientsDoNotFit, source: Source | None, line: ast.Return | None
) -> Iterator[Remedy | Fix]:
    returned = broken.returned
    values = values_of(line) if line is not None else []
    known = len(values) == len(returned.gradients)
    edit = None
    if source is not None and line is not None and known:
        edit = edited(source, line, values, broken)
    if edit is not None:
        yield Change(to=edit[0], words=edit[1])
        return
    yield Fix("Return one value for each input of `forward`: its gradient, or None.", choice=True)


def edited(
    source: Source, line: ast.Return, values: list[ast.expr], broken: GradientsDoNotFit
) -> tuple[Edit, str] | None:
    returned, number = broken.returned, broken.number
    if number is None:
        return with_none(source, values, returned)
    taken, gradient = returned.inputs[number], returned.gradients[number]
    if not taken.is_tensor:
        words = f"Return None for {code(name_of(returned, number))}, which is no tensor."
        return replaced(source, values[number], "None"), words
    if not gradient.is_tensor:
        return None
    if taken.shape == gradient.shape[::-1] and len(taken.shape) == 2:
        return appended(source, values[number], ".t()"), "Transpose it: `.t()`."
    name = saved_name(source, line, name_of(returned, number))
    if name and same_count(taken, gradient):
        fit = f".reshape_as({name})"
        return appended(source, values[number], fit), f"Give it the input's shape: {code(fit)}."
    return None


def same_count(taken: InputOrGradient, gradient: InputOrGradient) -> bool:
    return sorted(size for size in taken.shape if size != 1) == sorted(
        size for size in gradient.shape if size != 1
    )


def with_none(
    source: Source, values: list[ast.expr], returned: ReturnedGradients
) -> tuple[Edit, str] | None:
    """None for the inputs without a gradient, where those are the ones that need none: each in its
    place, if just as many tensors that require grad are there as gradients are returned."""
    taken = returned.inputs
    missing = len(taken) - len(values)
    if missing < 0:
        text = ", ".join(map(source.segment, values[:missing]))
        words = "Return no more than there are inputs."
        return replaced_tuple(source, source.parents[values[0]], text), words
    needing = [number for number, value in enumerate(taken) if value.is_tensor and value.grad]
    order = iter(values)
    if len(needing) == len(values):
        parts = [
            source.segment(next(order)) if at in needing else "None" for at in range(len(taken))
        ]
    elif not any(value.is_tensor and value.grad for value in taken[len(values) :]):
        parts = [*map(source.segment, values), *["None"] * missing]
    else:
        return None
    names = [code(name_of(returned, at)) for at, part in enumerate(parts) if part == "None"]
    whole = source.parents[values[0]] if len(values) > 1 else values[0]
    text = ", ".join(parts)
    return replaced_tuple(source, whole, text), f"Return None for {spoken(names)}."


def replaced_tuple(source: Source, node: ast.AST, text: str) -> Edit:
    assert isinstance(node, ast.expr)
    written = source.segment(node)
    bracketed = written.startswith("(") and isinstance(node, ast.Tuple)
    return replaced(source, node, f"({text})" if bracketed else text)


def saved_name(source: Source, line: ast.Return, name: str) -> str:
    """What `backward` calls an input that `forward` has saved under its own name."""
    owner = source.class_around(line)
    if owner is None:
        return ""
    saved = [call for call in nodes_within(owner, ast.Call) if called(call) == "save_for_backward"]
    names = [ast.unparse(value) for call in saved[:1] for value in call.args]
    for node in ast.walk(owner):
        match node:
            case ast.Assign(targets=[target], value=ast.Attribute(attr="saved_tensors")):
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                if name in names and names.index(name) < len(parts):
                    return ast.unparse(parts[names.index(name)])
    return ""


@RULE.on(SavedNoTensor)
def something_else_was_saved(broken: SavedNoTensor, case: Case) -> Finding:
    source = case.source(broken.use)
    calls = save_calls(source, broken.saved.line) if source is not None else []
    args = calls[0].args if len(calls) == 1 else []
    known = source is not None and len(args) == len(broken.saved.values)
    texts = [source.segment(args[number]) for number in broken.numbers] if known and source else []
    kinds = spoken(broken.saved.values[number].kind for number in broken.numbers)
    named = spoken(map(code, texts)) or "a value"
    return case.finding(
        broken.use.place,
        f"`save_for_backward` takes tensors, and {named} is {kinds}.",
        facts=(
            Fact("saved", spoken(words(value) for value in broken.saved.values)),
            *((Fact("raised at", str(case.own.place)),) if case.own is not None else ()),
        ),
        why="Autograd tracks what is saved for versions and leaks, which only tensors have. Numbers"
        " and flags are kept as attributes of `ctx`.",
        remedies=tuple(as_attributes(source, calls, broken.numbers)) if known and source else (),
    )


def as_attributes(
    source: Source, calls: list[ast.Call], numbers: tuple[int, ...]
) -> Iterator[Remedy]:
    """`ctx.scale = scale`, and the same where `backward` unpacks what was saved."""
    call = calls[0]
    owner = source.class_around(call)
    unpacked = unpacking(owner, len(call.args)) if owner is not None else None
    texts = [source.segment(argument) for argument in call.args]
    if unpacked is None or not isinstance(call.func, ast.Attribute) or call.keywords:
        return
    assign, parts, context = unpacked
    names = [ast.unparse(part) for part in parts]
    kept = [at for at in range(len(texts)) if at not in numbers]
    tensors = ", ".join(texts[at] for at in kept)
    statement = source.statement_of(call)
    attributes = [(f"{ast.unparse(call.func.value)}.{names[at]}", at) for at in numbers]
    saved = "\n".join(f"{attribute} = {texts[at]}" for attribute, at in attributes)
    read = "\n".join(f"{names[at]} = {context}.{names[at]}" for at in numbers)
    left = ", ".join(names[at] for at in kept) + ("," if len(kept) == 1 else "")
    function = source.segment(call.func)
    edit = both(
        replaced(source, call, f"{function}({tensors})"), inserted_after(source, statement, saved)
    )
    target = assign.targets[0]
    edit = both(edit, both(replaced(source, target, left), inserted_after(source, assign, read)))
    shown = spoken(code(attribute) for attribute, _ in attributes)
    yield Change(to=edit, words=f"Keep it as an attribute: {shown}.")


def unpacking(owner: ast.ClassDef, count: int) -> tuple[ast.Assign, list[ast.expr], str] | None:
    """`x, scale = ctx.saved_tensors`."""
    for node in ast.walk(owner):
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=parts)],
                value=ast.Attribute(value=context, attr="saved_tensors"),
            ) if len(parts) == count and all(isinstance(part, ast.Name) for part in parts):
                return node, parts, ast.unparse(context)
    return None
