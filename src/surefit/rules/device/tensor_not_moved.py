"""A tensor or a model was not moved to the device that everything else is on.

## What happens
An operation takes tensors of one device. Batches come from a loader on the CPU and must be moved,
each tensor of them; a tensor created inside `forward` without `device=` is on the CPU, wherever the
model is; `model.to(device)` moves a model, and a tensor's `.to` returns another tensor.

## Why it matters
It fails only where there is a second device, which is where time is expensive.

## What to do
Move every tensor of a batch (`labels = labels.to(device)`), create tensors where their neighbours
are (`torch.zeros(n, device=x.device)`), and move the model before the optimizer is created.

## How it is recognised
The operation that failed was given tensors on two devices. A second run finds the first of the
user's expressions that was on the device that does not go with the others. Weights on the CPU that
meet inputs which your code has moved are a model that was not.
"""

import ast
from collections.abc import Iterator
from typing import Literal

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.mixed_operands import MoveDropped, TwoDevices
from surefit.laws.layers.plain_tensors import left_behind
from surefit.laws.values.names import reading_of_value
from surefit.lineage.producers import Producer
from surefit.lineage.properties import on_device
from surefit.remedies.append import Append
from surefit.remedies.arguments import SetArgument
from surefit.remedies.statements import Insert
from surefit.remedies.wrap import Wrap
from surefit.source.line_edits import block_of
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"same device|not on the expected device|found at least two devices"
    r"|indices should be either on",
    "which of the tensors is not where the weights are, and where it was created",
)
RULE = Rule("SF722", "tensor-not-moved", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

FACTORIES = frozenset(
    (
        *("zeros", "ones", "full", "rand", "randn", "randint", "arange", "linspace", "empty"),
        *("eye", "tensor", "as_tensor", "randperm", "tril_indices", "triu_indices"),
    )
)
"""Functions of torch that take `device=`."""


@RULE.on(TwoDevices)
def devices_differ(broken: TwoDevices, case: Case) -> Finding | None:
    if left_behind(broken, case) is not None:
        return None  # unregistered-buffer has that
    if broken.is_weight:
        return model_was_not_moved(broken, case)
    if case.read:
        return was_not_moved(broken, case, None)
    birth = case.lineage(broken.stray).birth(of=on_device(broken.has))
    beside = neighbour(case, birth, broken.takes) if birth and is_factory(birth) else ""
    if birth is None or not beside:
        return was_not_moved(broken, case, birth)
    words = f"Create it where its neighbours are: `device={beside}.device`."
    return case.finding(
        birth.place,
        f"{code(birth.text)} creates a tensor on {broken.has}, and it meets one on {broken.takes}.",
        facts=(broken.stray.fact(f"on {broken.has}"), *fact_at("met at", broken.use)),
        why="A tensor is created on the CPU unless the call says where.",
        remedies=(SetArgument(at=birth, name="device", value=f"{beside}.device", words=words),),
    )


def was_not_moved(broken: TwoDevices, case: Case, birth: Producer | None) -> Finding:
    use = broken.stray.use or reading_of_value(case, broken.stray.value)
    beside = moved_beside(case, use) if use else None
    return case.finding(
        (beside or use or birth or broken.use).place,
        f"{code(use.text) if use else broken.stray.name} is on {broken.has}, and what it meets is"
        f" on {broken.takes}: it was not moved.",
        facts=(
            broken.stray.fact(f"on {broken.has}"),
            *((broken.other.fact(f"on {broken.takes}"),) if broken.other.dtype else ()),
            *fact_at("used at", broken.use),
            *fact_at("moved beside it", beside),
            *fact_at("created at", birth),
        ),
        why="Every tensor of a batch is moved on its own, and `.to` returns another tensor.",
        remedies=moves(broken, case, use, beside),
    )


def moves(
    broken: TwoDevices, case: Case, use: Expression | None, beside: Expression | None
) -> Iterator[Remedy | Fix]:
    device = device_of_move(case, beside) if beside else device_near(case, use, broken.takes)
    at = use or case.lineage(broken.stray).handed_over()
    if use is not None and isinstance(case.node(use), ast.Name | ast.Attribute):
        text = f"{use.text} = {use.text}.to({device})"
        words = f"Move it before it is used: {code(text)}."
        wanted = Wanted(use.text, broken.stray.shape, device=broken.takes)
        same = broken.stray.value.text == use.text
        must = ValuesAt(use.place, (wanted,)) if same else None
        where: Literal["before", "after"] = "after" if beside else "before"
        yield Insert(at=beside or use, where=where, text=text, words=words, must=must)
    words = f"Move it where it is used: `.to({device})`."
    yield Append(at=at, suffix=f".to({device})", words=words) if at else Fix(words, choice=True)


def model_was_not_moved(broken: TwoDevices, case: Case) -> Finding | None:
    """The input was moved, or created, on another device than the weights are on."""
    frames = case.crash.frames if case.crash is not None else ()
    layer = frames[broken.stray.frame].layer if broken.stray.frame is not None else None
    if layer is None:
        return None
    path = code(layer.path or layer.kind)
    roots = [
        (code(value.text), value.layer)
        for frame in frames
        for value in (frame.values if frame.own else ())
        if value.layer and value.layer.kind == layer.root and value.layer.made_at
    ]
    name, root = roots[0] if roots else (path, layer)
    constructor = case.constructor(root)
    birth = case.lineage(broken.other).birth(of=on_device(broken.takes))
    device = device_of_move(case, birth) if birth else repr(broken.takes)
    words = f"Move it when it is created, before the optimizer: `.to({device})`."
    move = Append(at=constructor, suffix=f".to({device})", words=words, alike=False)
    return case.finding(
        (constructor or broken.use).place,
        f"{name} is on {broken.has}, and what it is given is on {broken.takes}: it was not moved.",
        facts=(
            Fact(path, f"weights on {broken.has}"),
            broken.other.fact(f"on {broken.takes}"),
            *fact_at("moved at", birth),
        ),
        why="Moving the data does not move the weights.",
        remedies=(move if constructor else Fix(words, choice=True),),
    )


@RULE.on(MoveDropped)
def moved_tensor_is_dropped(broken: MoveDropped, case: Case) -> Finding | None:
    owner = case.owner(broken.use)
    if owner is None:
        return None
    before = f"{owner.text} = "
    words = f"Keep the result: `{before}{broken.use.text}`."
    return case.finding(
        broken.use.place,
        f"{code(broken.use.text)} returns another tensor, which is dropped: `{owner.text}` stays"
        " where it is.",
        why="`.to` moves a model in place, and a tensor never.",
        remedies=(Wrap(at=broken.use, before=before, words=words, alike=False),),
    )


def is_factory(producer: Producer) -> bool:
    return producer.text.partition("(")[0].rpartition(".")[2] in FACTORIES


def neighbour(case: Case, created: Producer, device: str) -> str:
    """An argument of the function that created a tensor, on the device that is meant; empty outside
    of the functions of a crash."""
    source, node = case.source(created.place), case.node(created)
    for frame in reversed(case.crash.frames if case.crash is not None else ()):
        if source is None or node is None or frame.place.file != source.file:
            continue
        statement = source.statement_at(frame.place.line or 0)
        if statement is not None and source.scope_of(statement) is source.scope_of(node):
            values = {value.text: value for value in frame.values}
            for text in frame.arguments:
                if text in values and values[text].device == device:
                    return text
    return ""


def moved_beside(case: Case, use: Expression) -> Expression | None:
    """The last statement before, in the same block, that moves another: `x = x.to(DEVICE)`."""
    source, node = case.source(use.place), case.node(use)
    if source is None or node is None:
        return None
    statement = source.statement_of(node)
    block = block_of(source, statement)
    for earlier in reversed(block[: block.index(statement)]):
        match earlier:
            case ast.Assign(
                value=ast.Call(func=ast.Attribute(value=ast.Name(), attr="to"), args=[_]) as call
            ):
                return case.expression(source, call)
    return None


def device_of_move(case: Case, move: Written) -> str:
    """As the call writes it: `DEVICE` of `x.to(DEVICE)`, of `torch.zeros(3, device=DEVICE)`."""
    source, call = case.source(move.place), case.node(move)
    if source is None or not isinstance(call, ast.Call):
        return "device"
    named = source.argument(call, "device", 0 if called(call) == "to" else None)
    if named is not None:
        return source.segment(named)
    return f'"{called(call)}"' if called(call) in ("cuda", "xpu", "mps", "cpu") else "device"


def device_near(case: Case, use: Expression | None, device: str) -> str:
    """A name that the frame has for the device, or that of a module's weights."""
    for frame in case.crash.frames if case.crash is not None and use is not None else ():
        if not frame.own or use is None or frame.place.line != use.place.line:
            continue
        plain = [value for value in frame.values if value.text.isidentifier()]
        names = [value.text for value in plain if value.kind == "device"]
        texts = [value.text for value in plain if value.scalar == device]
        modules = [f"next({value.text}.parameters()).device" for value in plain if value.layer]
        if names or texts or modules:
            return (*names, *texts, *modules)[0]
    return repr(device)
