"""An optimizer is given no parameters at all.

## What happens
A module registers what is assigned to it: parameters, modules, `nn.ModuleList`. Layers in a plain
list or dictionary are not looked into, so that `parameters()` is empty. A generator such as
`model.parameters()` can be gone through once: counted before, it gives nothing to the optimizer.
And a filter for parameters that want a gradient keeps none where all of them were frozen.

## Why it matters
With one layer registered and the others in a list it runs, and the others are never trained.

## What to do
`nn.ModuleList([...])` and `nn.ModuleDict({...})` for layers, `nn.ParameterList` for parameters;
`list(model.parameters())` where they are used twice; freeze before the new head is made.

## How it is recognised
The optimizer failed where it looks at its parameters, and has none. The model that they were asked
of is looked at: what it has registered, what wants a gradient, what lies in plain lists; and the
source for an earlier use of the same generator. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.held_parameters import ParametersAreHeld
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.source.edits import wrapped
from surefit.source.patches import Edit
from surefit.source.reading import Source, called, dotted

RULE = Rule(
    "SF602",
    "no-parameters",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"optimizer got an empty parameter list",
            "what the model has registered, what is frozen, and whether a generator was used up",
        ),
    ),
)

OPTIMIZER = "torch/optim/optimizer.py"
GIVES_ALL = ("parameters", "named_parameters")
MOST_FILES = 20


@dataclass(frozen=True, slots=True)
class Hidden:
    """A plain list or dictionary with layers in it."""

    owner: str
    name: str
    holder: str
    modules: int
    parameters: int


@dataclass(frozen=True, slots=True)
class Module:
    """What the model has."""

    kind: str
    parameters: int
    wanting: int
    hidden: list[Hidden] = field(default_factory=list)


@RULE.on(Crash)
def nothing_to_optimize(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    if frame is None or not is_empty(crash) or not is_cause(crash, seen):
        return
    source = seen.source(frame.place)
    call = source.expression_at(frame.span) if source and frame.span else None
    given = source.argument(call, "params", 0) if source and isinstance(call, ast.Call) else None
    if source is None or given is None:
        return
    asked = asked_of(source, given)
    module = module_of(crash, seen, frame, asked) if asked else None
    if module is not None and module.hidden and not module.parameters:
        yield from in_plain_lists(crash, seen, frame, module)
        return
    used = used_before(source, given)
    if used is not None and (module is None or module.wanting):
        yield used_up(crash, frame, source, used, module)
        return
    if module is not None and module.parameters and not module.wanting:
        yield all_frozen(crash, seen, frame, source, given, module)
        return
    yield RULE.finding(
        frame.place,
        f"{code(source.segment(given))} gives the optimizer no parameters.",
        facts=tuple(known(module)),
        why="An optimizer needs at least one tensor to step.",
        fixes=(
            Fix(
                "Give it what is to be trained: `model.parameters()`.",
                why_not_tried="what is to be trained only you know",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def is_empty(crash: Crash) -> bool:
    """The optimizer's own code failed on a list without anything in it."""
    last = crash.frames[-1] if crash.frames else None
    if last is None or not last.place.file.replace("\\", "/").endswith(OPTIMIZER):
        return False
    if not last.function.endswith("__init__"):
        return False
    return any(one.text == "param_groups" and one.length == 0 for one in last.values)


def asked_of(source: Source, given: ast.expr) -> ast.expr | None:
    """`model` of `model.parameters()`, also inside a filter, a list or a comprehension."""
    node = source.value_of(given)
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and called(one) in GIVES_ALL:
            return one.func.value if isinstance(one.func, ast.Attribute) else None
    return None


def module_of(crash: Crash, seen: Recording, frame: Frame, node: ast.expr) -> Module | None:
    about = {"frame": crash.frames.index(frame), "text": ast.unparse(node)}
    said = seen.ask(Question("own-parameters", crash.id, about))
    return msgspec.convert(said, Module, strict=False) if said else None


def known(module: Module | None) -> Iterator[Fact]:
    if module is not None:
        yield Fact(f"`{module.kind}` has", counted(module.parameters, "parameter"))
        if module.parameters:
            yield Fact("that want a gradient", str(module.wanting))


def in_plain_lists(
    crash: Crash, seen: Recording, frame: Frame, module: Module
) -> Iterator[Finding]:
    first = module.hidden[0]
    found = assigned(seen, first)
    place = Place(found[0].file, found[1].lineno) if found else frame.place
    what = (
        counted(first.modules, "module")
        if first.modules
        else counted(first.parameters, "parameter")
    )
    kind = wrapper(first)
    edit = edited(found, first) if found and len(module.hidden) == 1 else None
    must = ParametersAreHeld(first.parameters) if edit else None
    yield RULE.finding(
        place,
        f"`self.{first.name}` of `{first.owner}` is a plain {first.holder}: the {what} in it are"
        " not registered, and `parameters()` gives none.",
        facts=(
            *known(module),
            Fact(f"in `self.{first.name}`", counted(first.parameters, "parameter")),
            Fact("asked for at", f"{frame.place}  {' '.join(frame.line.split())}"),
        ),
        why="A module knows only what is assigned to it as a module or a parameter; it does not"
        f" look into a {first.holder}. `.to(device)` and `state_dict()` pass them over, too.",
        fixes=(
            Fix(
                f"`nn.{kind}({'{...}' if kind == 'ModuleDict' else '[...]'})` around it.",
                edit,
                must,
                "" if edit else "where it gets its value was not found, or there are several",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def wrapper(hidden: Hidden) -> str:
    if not hidden.modules:
        return "ParameterDict" if hidden.holder == "dict" else "ParameterList"
    return "ModuleDict" if hidden.holder == "dict" else "ModuleList"


def assigned(seen: Recording, hidden: Hidden) -> tuple[Source, ast.Assign | ast.AnnAssign] | None:
    """The one statement in the class that gives the attribute its value."""
    for script in list(seen.all(Script))[:MOST_FILES]:
        source = seen.source(script.file)
        for owner in source.every(ast.ClassDef) if source else ():
            if source is None or owner.name != hidden.owner:
                continue
            found = [
                one
                for one in ast.walk(owner)
                if isinstance(one, ast.Assign | ast.AnnAssign)
                and any(dotted(target) == f"self.{hidden.name}" for target in targets_of(one))
            ]
            return (source, found[0]) if len(found) == 1 else None
    return None


def targets_of(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def edited(found: tuple[Source, ast.Assign | ast.AnnAssign], hidden: Hidden) -> Edit | None:
    source, statement = found
    prefix = written_nn(source)
    if statement.value is None or prefix is None:
        return None
    return wrapped(source, statement.value, f"{prefix}.{wrapper(hidden)}(", ")")


def written_nn(source: Source) -> str | None:
    """How the file writes `torch.nn`."""
    for one in source.every(ast.expr):
        if isinstance(one, ast.Name | ast.Attribute) and source.imported(one) == "torch.nn":
            return source.segment(one)
    return None


def used_before(source: Source, given: ast.expr) -> tuple[ast.Assign, ast.expr] | None:
    """The statement that makes a generator, and what went through it before the optimizer."""
    if not isinstance(given, ast.Name):
        return None
    bound = source.bound_by(given)
    made = bound[0] if len(bound) == 1 else None
    if not isinstance(made, ast.Assign) or not is_generator(made.value):
        return None
    earlier = [
        one
        for one in source.every(ast.Name)
        if one.id == given.id
        and one is not given
        and isinstance(one.ctx, ast.Load)
        and made.lineno < one.lineno <= given.lineno
        and source.bound_by(one) == bound
    ]
    return (made, earlier[0]) if earlier else None


def is_generator(node: ast.expr) -> bool:
    if isinstance(node, ast.GeneratorExp):
        return True
    return isinstance(node, ast.Call) and called(node) in (*GIVES_ALL, "filter", "map", "chain")


def used_up(
    crash: Crash,
    frame: Frame,
    source: Source,
    used: tuple[ast.Assign, ast.expr],
    module: Module | None,
) -> Finding:
    made, earlier = used
    name = ast.unparse(earlier)
    count = module.wanting if module else 1
    return RULE.finding(
        Place(source.file, made.lineno),
        f"{code(name)} can be gone through once, and line {earlier.lineno} has done so; nothing is"
        " left for the optimizer.",
        facts=(
            *known(module),
            Fact("used up at", f"{source.file}:{earlier.lineno}  {line_of(source, earlier)}"),
            Fact("given to the optimizer at", str(frame.place)),
        ),
        why="A generator gives each of its items once, and then ends.",
        fixes=(
            Fix(
                f"Make it a list: {code(f'{name} = list({source.segment(made.value)})')}.",
                wrapped(source, made.value, "list(", ")"),
                ParametersAreHeld(count),
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def line_of(source: Source, node: ast.expr) -> str:
    return " ".join(source.lines[node.lineno - 1].split())


def all_frozen(
    crash: Crash, seen: Recording, frame: Frame, source: Source, given: ast.expr, module: Module
) -> Finding:
    frozen = list(freezing(seen))
    place = frozen[0] if len(frozen) == 1 else frame.place
    return RULE.finding(
        place,
        f"All {counted(module.parameters, 'parameter')} of `{module.kind}` are frozen, and"
        f" {code(source.segment(given))} keeps only those that are not.",
        facts=(*known(module), Fact("asked for at", str(frame.place))),
        why="A parameter without `requires_grad` gets no gradient, and cannot be trained.",
        fixes=(
            Fix(
                "Freeze only the part that is to stay, `model.encoder.parameters()` say, or make"
                " the new layer behind the loop that freezes.",
                why_not_tried="which part is to be trained only you know",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def freezing(seen: Recording) -> Iterator[Place]:
    """Statements that switch gradients off for parameters."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for node in source.every(ast.AST) if source else ():
            match node:
                case ast.Assign(
                    targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=False)
                ):
                    yield Place(script.file, node.lineno)
                case ast.Call(
                    func=ast.Attribute(attr="requires_grad_"), args=[ast.Constant(value=False)]
                ):
                    yield Place(script.file, node.lineno)
