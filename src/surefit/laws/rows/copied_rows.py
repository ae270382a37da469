"""Statements that copy or alter rows before they are split into training and held-out ones."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from surefit.laws.evaluation.evaluation_names import HELD_OUT, TRAINED, names_in, words_of
from surefit.source.reading import Source, called, names_within

COPYING_CALLS = frozenset(
    ("cat", "concat", "concatenate", "vstack", "hstack", "repeat", "repeat_interleave", "tile")
    + ("resample", "fit_resample", "extend", "append", "sample", "choices", "choice", "stack")
)
JOINING = frozenset(
    ("cat", "concat", "concatenate", "vstack", "repeat", "repeat_interleave", "tile")
)
COPYING_WORDS = frozenset(
    ("augment", "augmented", "augmentation", "oversample", "upsample", "balance", "balanced")
    + ("duplicate", "repeat", "expand", "enlarge", "smote", "resample", "copies", "multiply")
    + ("oversampled", "upsampled", "oversampling", "upsampling", "replicate", "jitter", "noisy")
    + ("synthesize", "synthetic", "bootstrap", "inflate", "grow", "aug")
)
ALTERING_WORDS = frozenset(
    ("augment", "augmented", "augmentation", "aug", "jitter", "noise", "noisy", "smote", "flip")
    + ("rotate", "crop", "mixup", "perturb", "synthetic", "synthesize", "fliplr", "flipud")
    + ("paraphrase", "rotated", "flipped", "perturbed", "distort", "warp", "mirror")
)
NAME = r"(?<![\w.]){}(?!\w)"


@dataclass(frozen=True)
class CopiedBeforeSplit:
    """A statement that makes more rows, and the statements after it that split them."""

    source: Source
    copying: ast.stmt
    helping: tuple[ast.stmt, ...]
    """Statements right before it whose results nothing else uses."""
    splitting: tuple[ast.stmt, ...]
    before: Mapping[str, str]
    """Name after copying -> name before it."""
    training: Mapping[str, str]
    """Name after copying -> name of its training part."""

    def moved(self) -> str | None:
        """The copying statement, for the training part alone; None where it binds other names,
        too."""
        bound = set(bound_names(self.copying))
        if not bound <= set(self.training):
            return None
        text = "\n".join(self.text_of(part) for part in (*self.helping, self.copying))
        wanted = dict(self.training)
        for after, earlier in self.before.items():
            wanted.setdefault(earlier, self.training[after])
        return renamed(text, wanted)

    def text_of(self, statement: ast.stmt) -> str:
        first, *rest = self.source.segment(statement).split("\n")
        indent = " " * statement.col_offset
        return "\n".join([first, *(line.removeprefix(indent) for line in rest)])


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Whole names, all at once; attributes and keywords keep theirs."""
    either = "|".join(NAME.format(re.escape(name)) for name in names)
    return re.sub(either, lambda found: names[found[0]], text)


def copied_before_split(source: Source) -> Iterator[CopiedBeforeSplit]:
    for block in blocks(source):
        for number, copying in enumerate(block):
            if copies_rows(source, copying):
                found = split_after(source, block, number)
                if found is not None:
                    yield found


def blocks(source: Source) -> Iterator[list[ast.stmt]]:
    for node in source.nodes:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """What a statement binds; a method that changes its list binds that."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if not is_loop_variable(node, statement):
                yield node.id
        elif isinstance(node, ast.Call) and called(node) in ("extend", "append"):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(owner, ast.Name):
                yield owner.id


def is_loop_variable(node: ast.Name, statement: ast.stmt) -> bool:
    loops = [part for part in ast.walk(statement) if isinstance(part, ast.For | ast.comprehension)]
    return any(node in ast.walk(loop.target) for loop in loops)


def copies_rows(source: Source, statement: ast.stmt) -> bool:
    """It makes rows out of rows, by a call that repeats or joins, or by its words; also in a
    function of the file."""
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.For | ast.Expr):
        return False
    if any(isinstance(node, ast.FunctionDef | ast.Lambda) for node in ast.walk(statement)):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and not joins_columns(node):
            name = called(node)
            if name in COPYING_CALLS or words_of(name) & (COPYING_WORDS | ALTERING_WORDS):
                return True
            if any(joins(known) for known in source.definitions.get(name, ())):
                return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add):
            operands = (node.left, node.right)
            if any(isinstance(part, ast.List | ast.ListComp) for part in operands):
                return True
            if isinstance(node.op, ast.Mult) and is_repetition(node):
                return True
    return isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Mult)


def joins(function: ast.AST) -> bool:
    if not isinstance(function, ast.FunctionDef):
        return False
    return any(
        isinstance(node, ast.Call) and called(node) in JOINING and not joins_columns(node)
        for node in ast.walk(function)
    )


def joins_columns(call: ast.Call) -> bool:
    """`pd.concat([table, dummies], axis=1)`: each row stays one."""
    words = (word.value for word in call.keywords if word.arg in ("axis", "dim"))
    return any(ast.unparse(word) in ("1", "-1", "'columns'") for word in words)


def is_repetition(node: ast.BinOp) -> bool:
    """`rows * 4`, as lists are repeated."""
    numbers = [part for part in (node.left, node.right) if isinstance(part, ast.Constant)]
    names = [part for part in (node.left, node.right) if isinstance(part, ast.Name)]
    return len(numbers) == len(names) == 1 and type(numbers[0].value) is int


def split_after(source: Source, block: list[ast.stmt], number: int) -> CopiedBeforeSplit | None:
    """The statements of a block that split what another one has bound."""
    copying, later = block[number], block[number + 1 :]
    rows = set(bound_names(copying))
    training: dict[str, str] = {}
    splitting: list[ast.stmt] = []
    held_out = False
    for statement in later:
        if not isinstance(statement, ast.Assign) or isinstance(statement.value, ast.Constant):
            continue
        pairs = dict(parts_of(statement))
        kept = {name: base for name, base in pairs.items() if base in rows}
        parts = {name: base for name, base in kept.items() if words_of(name) & (TRAINED | HELD_OUT)}
        if not parts:
            if rows & set(loaded_names(statement)):  # a dataset of these rows, say
                rows |= set(bound_names(statement))
            continue
        splitting.append(statement)
        held_out |= any(words_of(name) & HELD_OUT for name in parts)
        for name, base in parts.items():
            if words_of(name) & TRAINED:
                training.setdefault(base, name)
    if not splitting or not training or not held_out:
        return None
    helping = tuple(helpers(source, block, number))
    before = sources_of(copying)
    return CopiedBeforeSplit(source, copying, helping, tuple(splitting), before, training)


def helpers(source: Source, block: list[ast.stmt], number: int) -> list[ast.stmt]:
    """`rare = x[y == 1]`, where only the copying statement uses it."""
    found: list[ast.stmt] = []
    for statement in reversed(block[:number]):
        users = (block[number], *found)
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            break
        name = statement.targets[0].id
        reads = [
            node
            for node in source.every(ast.Name)
            if node.id == name and isinstance(node.ctx, ast.Load)
        ]
        if not reads or not all(source.statement_of(node) in users for node in reads):
            break
        if not rows_read(statement) & set(bound_names(block[number])):
            break
        found.insert(0, statement)
    return found


def rows_read(statement: ast.stmt) -> set[str]:
    return set(loaded_names(statement))


def sources_of(copying: ast.stmt) -> dict[str, str]:
    """`x_more` -> `x` of `x_more, y_more = augment(x, y)`; names that are bound again are their own
    source."""
    bound = list(dict.fromkeys(bound_names(copying)))
    read = [name for name in names_in(copying) if name not in bound]
    if not isinstance(copying, ast.Assign) or set(bound) & set(loaded_names(copying)):
        return {name: name for name in bound}
    call = copying.value
    plain = list(dict.fromkeys(read))
    if isinstance(call, ast.Call):
        plain = [part.id for part in call.args if isinstance(part, ast.Name)]
    return dict(zip(bound, plain, strict=False)) if len(plain) >= len(bound) else {}


def loaded_names(statement: ast.stmt) -> Iterator[str]:
    yield from names_within(statement, ast.Load)


def parts_of(statement: ast.Assign) -> Iterator[tuple[str, str]]:
    """Each name that a statement binds, and the name of what it is a part of."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Name):
        base = base_name(value)
        if base:
            yield target.id, base
        return
    if not isinstance(target, ast.Tuple | ast.List):
        return
    names = [part.id if isinstance(part, ast.Name) else "" for part in target.elts]
    if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
        for name, part in zip(names, value.elts, strict=True):
            base = base_name(part)
            if name and base:
                yield name, base
    elif isinstance(value, ast.Call):
        yield from parts_of_call(names, value)


def parts_of_call(names: list[str], call: ast.Call) -> Iterator[tuple[str, str]]:
    rows = [part.id for part in call.args if isinstance(part, ast.Name)]
    training = [name for name in names if words_of(name) & TRAINED]
    held_out = [name for name in names if words_of(name) & HELD_OUT]
    for parts in (training, held_out):
        if parts and len(parts) <= len(rows):
            yield from zip(parts, rows, strict=False)


def base_name(node: ast.expr) -> str:
    """`x` of `x[cut:]`, of `x[order[:cut]]`, of `[x[i] for i in order]` and of `x.iloc[:cut]`."""
    if isinstance(node, ast.ListComp):
        inner = base_name(node.elt)
        return inner or base_name(node.generators[0].iter)
    if isinstance(node, ast.Call) and called(node) in ("Subset", "list", "array", "index_select"):
        return base_name(node.args[0]) if node.args else ""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
