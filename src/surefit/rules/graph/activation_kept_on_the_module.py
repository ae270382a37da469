"""A module keeps a result of its forward pass as an attribute, and cannot be copied with it.

## What happens
A forward hook, or `forward` itself, stores an activation on the module: `module.activity = output`,
for a penalty or to look at it. The tensor is no leaf: it belongs to the graph of that forward pass.
`copy.deepcopy(model)` copies attributes, too, and torch copies only leaves: `Only Tensors created
explicitly by the user (graph leaves) support the deepcopy protocol`. A process that is sent the
module refuses it for the same reason.

## Why it matters
The message names neither the attribute nor the module. Detaching the activation makes the copy
work, and takes away the gradient of what is computed from it. And the attribute keeps a whole graph
in memory until the next forward pass.

## What to do
Keep the activation outside of the module, in a dict that the hook writes to, or clear the attribute
before the copy. Copying `state_dict()` into a new model works, too.

## How it is recognised
A copy failed at a tensor with a graph, and the object that was to be copied holds such tensors as
attributes. The line that stores them is found by the name of the attribute.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.kept_graphs import CopiedWithGraph
from surefit.remedies.change import Change
from surefit.source.edits import inserted_before
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF989",
    "activation-kept-on-the-module",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            "support the deepcopy protocol|refusing to serialize non-leaf",
            "which attribute of the module is a tensor with a graph",
        ),
    ),
)

HOOKS = ("register_forward_hook", "register_forward_pre_hook")
ADDING = ("append", "extend", "insert", "add", "update", "setdefault")
MOST_SHOWN = 4


@RULE.on(CopiedWithGraph)
def a_copy_meets_a_graph(broken: CopiedWithGraph, case: Case) -> Finding | None:
    first = broken.graphs.kept[0]
    if not first.attribute:
        return None  # a dict or a list of results, and no object that keeps them
    stored = next(stores(case, first.attribute), None)
    text = f"{broken.whole.text}{first.path}"
    more = f" ({broken.graphs.count - 1:,} more like it)" if broken.graphs.count > 1 else ""
    return case.finding(
        Place(stored[0].file, stored[1].lineno) if stored is not None else broken.use.place,
        f"{who(stored)} `{first.attribute}` as an attribute of `{first.owner}`: {code(text)}{more}"
        f" is an activation with a graph, a non-leaf tensor, and {code(call_of(broken))} copies"
        " leaves only.",
        facts=(
            *(
                Fact(
                    code(f"{broken.whole.text}{kept.path}"), f"{shape_of(kept.shape)}, with grad_fn"
                )
                for kept in broken.graphs.kept[:MOST_SHOWN]
            ),
            Fact("copied at", f"{broken.use.place}  {broken.use.text}"),
        ),
        why="A copy of a module copies its attributes. A result of a forward pass is a part of its"
        " graph, and a copy of it would belong to none.",
        remedies=tuple(remedies(broken, case)),
    )


def call_of(broken: CopiedWithGraph) -> str:
    return broken.use.text.partition("(")[0]


def who(stored: tuple[Source, ast.stmt] | None) -> str:
    """The function that stores it, and whether that is a hook."""
    source, statement = stored or (None, None)
    if source is None or statement is None:
        return "The module keeps"
    around = (node for node in source.up(statement) if isinstance(node, ast.FunctionDef))
    function = next(around, None)
    if function is None:
        return "This line stores"
    hooked = {
        ast.unparse(call.args[0]).rpartition(".")[2]
        for call in source.calls_named(*HOOKS)
        if call.args
    }
    outer = {node.name for node in source.up(statement) if isinstance(node, ast.FunctionDef)}
    kind = "The forward hook " if hooked & outer else ""
    return f"{kind}`{function.name}` stores"


def stores(case: Case, attribute: str) -> Iterator[tuple[Source, ast.stmt]]:
    """Statements that put something under the attribute, outside of `__init__` first."""
    found = [
        (source, statement)
        for source, statement in case.recording.every(ast.stmt)
        if not hasattr(statement, "body") and puts(statement, attribute)
    ]
    yield from sorted(found, key=lambda pair: is_in_init(*pair))


def is_in_init(source: Source, statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for node in source.up(statement)
    )


def puts(statement: ast.stmt, attribute: str) -> bool:
    match statement:
        case ast.Assign(targets=targets, value=value):
            if isinstance(value, ast.Constant | ast.List | ast.Dict):
                return False
            parts = [part for target in targets for part in ast.walk(target)]
            return any(isinstance(part, ast.Attribute) and part.attr == attribute for part in parts)
        case ast.AugAssign(target=ast.Attribute(attr=name)):
            return name == attribute
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr=verb))
        ):
            return name == attribute and verb in ADDING
        case ast.Expr(value=ast.Call(args=[_, ast.Constant(value=name), *_]) as call):
            return called(call) == "setattr" and name == attribute
    return False


def remedies(broken: CopiedWithGraph, case: Case) -> Iterator[Remedy | Fix]:
    edit = cleared(broken, case)
    if edit is not None:
        words = "Clear it before the copy; the next forward pass stores it again."
        yield Change(to=edit, words=words)
    yield Fix(
        "Or keep it outside of the module, in a dict that the hook writes to. Detaching it would"
        " take away the gradient of what is computed from it.",
        choice=True,
    )


def cleared(broken: CopiedWithGraph, case: Case) -> Edit | None:
    source = case.source(broken.use)
    line = broken.use.place.line
    statement = source.statement_at(line) if source is not None and line is not None else None
    if source is None or statement is None or hasattr(statement, "body"):
        return None
    if shares_lines(source, statement):
        return None
    return inserted_before(source, statement, "\n".join(dict.fromkeys(clearing(broken))))


def clearing(broken: CopiedWithGraph) -> Iterator[str]:
    """A line for each; of many modules with the same attribute, a loop."""
    kept, whole = broken.graphs.kept, broken.whole.text
    names = dict.fromkeys(tensor.attribute for tensor in kept)
    if len(kept) > MOST_SHOWN and len(names) == 1 and all(tensor.direct for tensor in kept):
        name = next(iter(names))
        yield f"for module in {whole}.modules():"
        yield f'    if hasattr(module, "{name}"):'
        yield f"        module.{name} = None"
        return
    for tensor in kept:
        holder = tensor.path.partition(f".{tensor.attribute}")
        if tensor.direct:
            yield f"{whole}{tensor.path} = None"
        else:
            yield f"{whole}{holder[0]}{holder[1]}.clear()"
