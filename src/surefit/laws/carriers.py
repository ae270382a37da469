"""What keeps a tensor from one step to the next: the name, and the statement that gives it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.laws.graph_stories import GraphStory, HolderSeen, Joint, Stood, When
from surefit.laws.rounds import line_in, loops_around, round_of, when_computed
from surefit.source.reading import Source, targets

KEEPING_CALLS = ("append", "extend", "add", "appendleft")
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
    if not holder.attribute:
        source = recording.source(holder.file)
        for scope in scopes(source, holder.function) if source else ():
            if source is not None and is_read_first(source, scope, holder.base):
                yield from in_scope(keeping(source, scope, holder), scope)
        for function in sharing(source, holder.base) if source else ():
            if source is not None:
                yield from in_scope(keeping(source, function, holder), function)
        return
    for script in recording.all(Script):
        source = recording.source(script.file)
        for kind in source.definitions.get(holder.owner, ()) if source else ():
            if source is not None and isinstance(kind, ast.ClassDef):
                text = f"self.{holder.attribute}"
                yield from keeping(source, kind, holder, text)
    source = recording.source(holder.file)
    for scope in scopes(source, holder.function) if source else ():
        if source is not None and not holder.base.startswith("self."):
            yield from keeping(source, scope, holder)


def in_scope(carriers: Iterator[Carrier], scope: ast.AST) -> Iterator[Carrier]:
    """Not those of functions inside, whose names are their own."""
    return (carrier for carrier in carriers if carrier.source.scope_of(carrier.statement) is scope)


def sharing(source: Source, name: str) -> Iterator[ast.AST]:
    """Functions that give a value to a name outside of them: `global h`."""
    for node in source.every(ast.stmt):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            yield source.scope_of(node)


def scopes(source: Source, function: str) -> list[ast.AST]:
    """By its qualified name, whose last part is enough."""
    name = function.rpartition(".")[2]
    return [source.tree] if name == "<module>" else list(source.definitions.get(name, ()))


def keeping(
    source: Source, scope: ast.AST, holder: HolderSeen, text: str | None = None
) -> Iterator[Carrier]:
    """Statements that put something computed under a name; `= None` and the like do not."""
    text, container = holder.base if text is None else text, holder.container
    inner = container if holder.text.removeprefix(holder.base).count("[") > 1 else ""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in written_to(node):
                if ast.unparse(target) == text and can_have_a_graph(node.value):
                    yield Carrier(source, node, text, container)
                elif is_item_of(target, text):
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
    inner = [node for node in ast.walk(value) if isinstance(node, ast.Name)]
    return bool(inner) and not is_fresh(value)


def is_fresh(value: ast.expr) -> bool:
    """`torch.zeros(rows, 8)`, a pair of these, `[]`."""
    if isinstance(value, ast.Tuple | ast.List):
        return all(is_fresh(item) for item in value.elts)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return isinstance(value, ast.Constant | ast.Dict)
    return value.func.attr in FRESH


FRESH = ("zeros", "ones", "randn", "rand", "empty", "full", "tensor", "zeros_like", "new_zeros")


def is_item_of(target: ast.expr, text: str) -> bool:
    return isinstance(target, ast.Subscript) and ast.unparse(target.value) == text


def put_into(node: ast.Expr, text: str) -> ast.expr | None:
    """The argument of `bank.append(...)`."""
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    is_it = call.func.attr in KEEPING_CALLS and ast.unparse(call.func.value) == text
    return call.args[0] if is_it and len(call.args) == 1 else None


def is_read_first(source: Source, scope: ast.AST, name: str) -> bool:
    """In some loop of the function a round reads the name before it has given it a value."""
    uses = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and node.id == name and is_in_scope(source, node, scope)
    ]
    for loop in {loop for use in uses for loop in loops_around(source, use)}:
        inside = [use for use in uses if any(outer is loop for outer in source.up(use))]
        writes = [use for use in inside if isinstance(use.ctx, ast.Store)]
        reads = [use for use in inside if isinstance(use.ctx, ast.Load)]
        if not writes and any(put_there(source, use) for use in reads):
            return True
        for write in writes:
            statement = source.statement_of(write)
            if isinstance(statement, ast.For):
                break
            last = statement.end_lineno or statement.lineno
            if isinstance(statement, ast.AugAssign) or any(use.lineno <= last for use in reads):
                return True
            break
    return False


def put_there(source: Source, use: ast.Name) -> bool:
    statement = source.statement_of(use)
    return isinstance(statement, ast.Expr) and put_into(statement, use.id) is not None


def is_in_scope(source: Source, node: ast.AST, scope: ast.AST) -> bool:
    return source.scope_of(node) is scope


def preferred(carriers: Sequence[Carrier], stack: Sequence[Stood]) -> Carrier:
    """One that was being run when the tensor was made; else the last one in a loop."""
    lines = {(line.file, line.line) for line in stack}

    def rank(carrier: Carrier) -> tuple[bool, bool, int]:
        node = carrier.statement
        covered = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        on_stack = any((carrier.source.file, line) in lines for line in covered)
        in_loop = any(True for _ in loops_around(carrier.source, node))
        return on_stack, in_loop, node.lineno

    return max(carriers, key=rank)


def targets_of(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    return [node.target] if isinstance(node, ast.AugAssign) else targets(node)


def kept_afterwards(recording: Recording, story: GraphStory, joint: Joint) -> Carrier | None:
    """`self.center = 0.9 * self.center + 0.1 * z.mean(0)`, after the backward pass."""
    here = round_of(recording, story.here)
    taken = line_in(here, joint.taken) if here else None
    earlier = line_in(here, joint.backward) if here else None
    if taken is None or earlier is None or taken <= earlier:
        return None
    for line in reversed(joint.taken):
        source = recording.source(line.file)
        statement = source.statement_at(line.line) if source else None
        if source is None or not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            continue
        for target in targets_of(statement):
            name = ast.unparse(target)
            scope = source.scope_of(statement)
            if isinstance(target, ast.Attribute) or is_read_first(source, scope, name):
                return Carrier(source, statement, name, afterwards=True)
    return None
