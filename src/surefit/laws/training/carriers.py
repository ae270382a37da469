"""What keeps a tensor from one step to the next: the name, and the statement that gives it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.graph_stories import GraphStory, HolderSeen, Joint, Stood, When
from surefit.doctor.recording import Recording
from surefit.laws.training.rounds import line_in, loop_of, standing, when_computed
from surefit.source.reading import Source, targets

KEEPING_CALLS = ("append", "extend", "add", "appendleft")
FRESH = ("zeros", "ones", "randn", "rand", "empty", "full", "tensor", "zeros_like", "new_zeros")
Keeping = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr


@dataclass(frozen=True, slots=True)
class Carrier:
    """A name that a step reads as the one before it left it."""

    source: Source
    statement: Keeping
    text: str
    """`self.memory`, `state`."""
    container: str = ""
    """`tuple`, `list` or `dict`, where the tensors lie in one; of `member`, where there is one."""
    member: ast.expr | None = None
    """What is put into a container, where only that is new: the argument of `append`."""
    afterwards: bool = False
    """It is given its value after the backward pass of the step."""


def carriers_of(recording: Recording, story: GraphStory) -> list[tuple[Carrier, Joint]]:
    """Each text once, in the order of the source: `h, c = cell(x, (h, c))` carries two. None where
    one of them is not known."""
    by_text: dict[str, tuple[Carrier, Joint]] = {}
    for joint in story.joints:
        earlier = when_computed(recording, story, joint) is When.IN_AN_EARLIER_ROUND
        if earlier and (joint.freed or joint.retained):
            carrier = carrier_of(recording, story, joint)
            if carrier is None:
                return []
            by_text.setdefault(carrier.text, (carrier, joint))
    return sorted(by_text.values(), key=lambda pair: position(pair[0]))


def position(carrier: Carrier) -> tuple[int, int]:
    """Of the name in its statement, as near as it can be told."""
    text = carrier.source.segment(carrier.statement)
    return carrier.statement.lineno, text.find(carrier.text)


def carrier_of(recording: Recording, story: GraphStory, joint: Joint) -> Carrier | None:
    """By the names that the tensor had when the earlier pass ended; where it had none that
    survives a step, by the statement that took it up after that."""
    for holder in joint.names:
        carriers = list(statements_that_keep(recording, holder))
        if carriers:
            return preferred(carriers, joint.made)
    return kept_afterwards(recording, story, joint)


def statements_that_keep(recording: Recording, holder: HolderSeen) -> Iterator[Carrier]:
    source = recording.source(holder.file)
    scopes = scopes_of(source, holder.function) if source else []
    if holder.attribute:
        for other in recording.sources():
            for kind in other.definitions.get(holder.owner, ()):
                if isinstance(kind, ast.ClassDef):
                    yield from keeping(other, kind, holder, f"self.{holder.attribute}")
        for scope in scopes if not holder.base.startswith("self.") else ():
            assert source is not None
            yield from keeping(source, scope, holder, holder.base)
    elif source is not None:
        read_first = [scope for scope in scopes if is_read_first(source, scope, holder.base)]
        for scope in (*read_first, *sharing(source, holder.base)):
            for carrier in keeping(source, scope, holder, holder.base):
                if source.scope_of(carrier.statement) is scope:  # names inside are others
                    yield carrier


def sharing(source: Source, name: str) -> Iterator[ast.AST]:
    """Functions that give a value to a name outside of them: `global h`."""
    for node in source.every(ast.stmt):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            yield source.scope_of(node)


def scopes_of(source: Source, function: str) -> list[ast.AST]:
    """By its qualified name, whose last part is enough."""
    name = function.rpartition(".")[2]
    return [source.tree] if name == "<module>" else list(source.definitions.get(name, ()))


def keeping(source: Source, scope: ast.AST, holder: HolderSeen, text: str) -> Iterator[Carrier]:
    """Statements that put something computed under a name; `= None` and the like do not."""
    container = holder.container
    inner = container if holder.text.removeprefix(holder.base).count("[") > 1 else ""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in written_to(node):
                if ast.unparse(target) == text and can_have_a_graph(node.value):
                    yield Carrier(source, node, text, container)
                elif isinstance(target, ast.Subscript) and ast.unparse(target.value) == text:
                    yield Carrier(source, node, text, inner, node.value)
        elif isinstance(node, ast.AugAssign) and ast.unparse(node.target) == text:
            yield Carrier(source, node, text, container)
        elif isinstance(node, ast.Expr) and (member := put_into(node, text)) is not None:
            yield Carrier(source, node, text, inner, member)


def written_to(node: ast.Assign | ast.AnnAssign) -> Iterator[ast.expr]:
    for target in targets(node):
        yield from target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def can_have_a_graph(value: ast.expr) -> bool:
    """A constant, or a call that is given nothing but numbers, has none."""
    names = any(isinstance(node, ast.Name) for node in ast.walk(value))
    return names and not is_fresh(value)


def is_fresh(value: ast.expr) -> bool:
    """`torch.zeros(rows, 8)`, a pair of these, `[]`."""
    match value:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(is_fresh(item) for item in items)
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in FRESH
    return isinstance(value, ast.Constant | ast.Dict)


def put_into(node: ast.stmt, text: str) -> ast.expr | None:
    """The argument of `bank.append(...)`."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=name), args=[argument])):
            return argument if name in KEEPING_CALLS and ast.unparse(owner) == text else None
    return None


def is_read_first(source: Source, scope: ast.AST, name: str) -> bool:
    """In some loop of the function a round reads the name before it has given it a value."""
    uses = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and node.id == name and source.scope_of(node) is scope
    ]
    for loop in {loop for use in uses for loop in source.loops_around(use)}:
        inside = [use for use in uses if loop in source.up(use)]
        writes = [use for use in inside if isinstance(use.ctx, ast.Store)]
        reads = [use for use in inside if isinstance(use.ctx, ast.Load)]
        if not writes and any(put_into(source.statement_of(use), name) for use in reads):
            return True
        for write in writes[:1]:
            first = source.statement_of(write)
            last = first.end_lineno or first.lineno
            early = isinstance(first, ast.AugAssign) or any(use.lineno <= last for use in reads)
            if early and not isinstance(first, ast.For):
                return True
    return False


def preferred(carriers: Sequence[Carrier], stack: Sequence[Stood]) -> Carrier:
    """One that was being run when the tensor was made; else the last one in a loop."""

    def rank(carrier: Carrier) -> tuple[bool, bool, int]:
        node, file = carrier.statement, carrier.source.file
        last = node.end_lineno or node.lineno
        on_stack = any(line.file == file and node.lineno <= line.line <= last for line in stack)
        return on_stack, any(True for _ in carrier.source.loops_around(node)), node.lineno

    return max(carriers, key=rank)


def kept_afterwards(recording: Recording, story: GraphStory, joint: Joint) -> Carrier | None:
    """`self.center = 0.9 * self.center + 0.1 * z.mean(0)`, after the backward pass."""
    around = loop_of(recording, story.here)
    taken = line_in(around[0], joint.taken) if around else None
    earlier = line_in(around[0], joint.backward) if around else None
    if taken is None or earlier is None or taken <= earlier:
        return None
    for here in standing(recording, joint.taken):
        source, statement = here.source, here.statement
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            continue
        for target in targets(statement):
            name = ast.unparse(target)
            scope = source.scope_of(statement)
            if isinstance(target, ast.Attribute) or is_read_first(source, scope, name):
                return Carrier(source, statement, name, afterwards=True)
    return None
