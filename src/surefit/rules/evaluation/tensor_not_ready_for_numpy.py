"""A tensor that NumPy cannot take as it is was made an array: it has a graph, or another dtype.

## What happens
`tensor.numpy()` shares memory with the tensor, so that it refuses one that gradients are recorded
for, one that lies on a GPU, and one whose dtype NumPy does not have (bfloat16). `np.mean`,
`np.array`, metrics and plots call it too, for each tensor in a list that they are given.

## Why it matters
It happens in the first evaluation, after the training before it. A list of losses with their graphs
also keeps the memory of every step alive until then.

## What to do
`.detach()` drops the graph, `.cpu()` copies from the GPU, `.float()` converts bfloat16;
`loss.item()` gives a single number. Around an evaluation, `torch.no_grad()` records no graph in the
first place.

## How it is recognised
`Tensor.numpy` or `Tensor.__array__` failed, and the tensor requires grad, is bfloat16 or lies
on another device than the CPU.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written, fact_at
from surefit.doctor.words import code, counted, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.numpy_arrays import NotReadyForNumpy
from surefit.laws.values.value_words import in_words
from surefit.remedies.append import Append
from surefit.source.reading import called, names_within

SYMPTOM = Symptom(
    r"Can't call numpy\(\) on Tensor that requires grad|unsupported ScalarType BFloat16"
    r"|can't convert \w+(:\d+)? device type tensor to numpy",
    "whether the tensor requires grad, is bfloat16 or lies on another device",
)
RULE = Rule("SF505", "tensor-not-ready-for-numpy", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


AS_ARRAYS = "as-arrays"
"""Asks whether tensors have equal values as arrays, once their graph is dropped."""


@RULE.on(NotReadyForNumpy)
def a_tensor_could_not_become_an_array(broken: NotReadyForNumpy, case: Case) -> Finding:
    kept = appended_at(broken, case) if broken.in_list else None
    which = f"A tensor in `{broken.text}`" if broken.in_list else f"`{broken.text}`"
    at: Written = kept or broken.use
    return case.finding(
        at.place,
        f"{which} cannot become an array: {spoken(reasons(broken))}.",
        facts=(shown(broken), *fact_at("converted at", broken.use if kept else None)),
        why=why(broken),
        remedies=of_list(broken, case, kept) if broken.in_list else of_tensor(broken, case),
    )


def reasons(broken: NotReadyForNumpy) -> Iterator[str]:
    known = {".detach()": "it requires grad", ".float()": f"NumPy has no {broken.value.dtype}"}
    for need in broken.needs:
        yield known.get(need, f"it is on {broken.value.device}")


def shown(broken: NotReadyForNumpy) -> Fact:
    words = in_words(broken.value) + (", with a graph" if broken.value.requires_grad else "")
    name = "its first tensor" if broken.in_list else code(broken.text)
    return Fact(name if broken.exact else f"`{broken.value.text}`", words)


def why(broken: NotReadyForNumpy) -> str:
    if ".detach()" not in broken.needs:
        return "An array shares memory with its tensor, and NumPy must be able to read it."
    if broken.in_list:
        return "Each tensor was kept with the graph that computed it, and that graph's memory."
    return (
        "The model was called while gradients were recorded; around an evaluation,"
        " `torch.no_grad()` records none."
    )


def appended_at(broken: NotReadyForNumpy, case: Case) -> Expression | None:
    """`loss` of `history.append(loss)`, the one call that fills the list."""
    source = case.source(broken.use.place)
    calls = [
        call
        for call in (source.every(ast.Call) if source is not None else ())
        if called(call) == "append"
        and isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func.value) == broken.tensor.value.text
        and len(call.args) == 1
    ]
    only = calls[0].args[0] if len(calls) == 1 else None
    return case.expression(source, only) if source is not None and only is not None else None


def of_tensor(broken: NotReadyForNumpy, case: Case) -> Iterator[Remedy | Fix]:
    if goes_into_a_loss(broken, case):
        yield Fix(
            "Write what is computed with NumPy here in torch: no gradient passes an array, and"
            " with `.detach()` nothing before it would be trained."
        )
        return
    suffix = "".join(broken.needs)
    if not broken.by_method:
        suffix += ("" if ".cpu()" in suffix else ".cpu()") + ".numpy()"
    yield Append(
        at=broken.tensor.use,
        suffix=suffix,
        words=f"`{broken.text}{suffix}`: the same numbers.",
        must=same_values(broken, case),
        alike=False,
    )


def of_list(
    broken: NotReadyForNumpy, case: Case, kept: Expression | None
) -> Iterator[Remedy | Fix]:
    single = broken.value.shape in ((), (1,))
    more = "" if ".cpu()" in broken.needs else ".cpu()"
    suffix = ".item()" if single else "".join(broken.needs) + more
    if kept is None:
        yield Fix(f"Keep `{suffix}` of each tensor in `{broken.text}`, where the list is filled.")
        return
    side = broken.tensor
    asked = case.answered(AS_ARRAYS, frame=side.frame or 0, text=side.value.text)
    length = broken.tensor.value.length
    tensors = counted(length, "tensor") if length else "tensors"
    what = "number without its graph" if single else "values without their graph"
    yield Append(
        at=kept,
        suffix=suffix,
        words=f"Keep `{kept.text}{suffix}`, the {what}.",
        must=ReExecuted(asked, f"the values of {tensors} and the numbers kept of them"),
        alike=False,
    )


def same_values(broken: NotReadyForNumpy, case: Case) -> Condition:
    """Compared in the crashed process, where that can be; otherwise the tensor is as it was."""
    swallowed = case.crash is not None and case.crash.swallowed
    if broken.exact and not swallowed:
        asked = case.answered(AS_ARRAYS, frame=broken.frame, text=broken.value.text)
        answer = case.recording.answer(asked)
        if answer is not None and answer.said is not None:
            return ReExecuted(asked, "the tensor's values and the array's")
    value = broken.value
    return ValuesAt(broken.use.place, (Wanted(value.text, shape=value.shape, dtype=value.dtype),))


def goes_into_a_loss(broken: NotReadyForNumpy, case: Case) -> bool:
    """`backward` is called on something that is computed from the array, in the same function."""
    node, source = case.node(broken.tensor.use), case.source(broken.use.place)
    if node is None or source is None:
        return False
    scope = source.scope_of(node)
    statements = [known for known in source.every(ast.Assign) if source.scope_of(known) is scope]
    tainted = bound_in(source.statement_of(node))
    for _ in statements:
        for statement in statements:
            if read_in(statement.value) & tainted:
                tainted |= bound_in(statement)
    calls = list(source.calls_named("backward"))
    here = [call.func for call in calls if source.scope_of(call) is scope]
    return any(bool(read_in(func) & tainted) for func in here)


def bound_in(statement: ast.stmt) -> set[str]:
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def read_in(node: ast.expr) -> set[str]:
    return set(names_within(node))
