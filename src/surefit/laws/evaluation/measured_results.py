"""Whether what a call gives back is measured: compared with something, or put into a loss or a
metric, by the statements of the file that follow."""

import ast
import re
from collections.abc import Iterator

from surefit.source.reading import Source, called, dotted

MEASURES = re.compile(
    r"loss|criterion|entropy|acc|score|metric|correct|argmax|topk|f1|auc|mse|mae|error|perplex"
    r"|nll|bleu|rouge|precision|recall|dice|iou|psnr|ssim|^item$|^eq$|^equal$|^max$",
    re.IGNORECASE,
)
MOST_NAMES = 40
FILLS = ("append", "extend", "add", "update")


def is_measured(source: Source, call: ast.expr) -> bool:
    """Names, lists and what functions of the file return are followed."""
    waiting: list[ast.AST] = [call]
    met: set[ast.AST] = set()
    while waiting and len(met) < MOST_NAMES:
        node = waiting.pop()
        if node in met:
            continue
        met.add(node)
        for outer, inner in upwards(source, node):
            if measures(outer, inner):
                return True
            waiting += followers(source, outer, inner)
    return False


def upwards(source: Source, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What a node is in, up to its statement, each with the part that it is in."""
    inner = node
    for outer in source.up(node):
        yield outer, inner
        if isinstance(outer, ast.stmt):
            return
        inner = outer


def measures(outer: ast.AST, inner: ast.AST) -> bool:
    if isinstance(outer, ast.Compare):
        return True
    if isinstance(outer, ast.Attribute):
        return bool(MEASURES.search(outer.attr))
    return (
        isinstance(outer, ast.Call)
        and outer.func is not inner
        and bool(MEASURES.search(called(outer)))
    )


def followers(source: Source, outer: ast.AST, inner: ast.AST) -> Iterator[ast.AST]:
    """Where the value is read again."""
    match outer:
        case ast.Assign(targets=targets, value=value) if value is inner:
            for target in targets:
                yield from reads(source, target)
        case ast.AugAssign(target=target, value=value) | ast.AnnAssign(target=target, value=value):
            if value is inner:
                yield from reads(source, target)
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            if value is inner:
                yield from reads(source, target)
        case ast.Return():
            yield from calls_of(source, source.scope_of(outer))
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in FILLS:
            if outer.func is not inner:
                yield from reads(source, owner)


def reads(source: Source, target: ast.AST) -> Iterator[ast.AST]:
    """Names of a target, wherever their scope reads them; attributes anywhere in the file."""
    scope = source.scope_of(target)
    for part in ast.walk(target):
        if isinstance(part, ast.Name):
            for node in source.every(ast.Name):
                same = node.id == part.id and isinstance(node.ctx, ast.Load)
                if same and node is not part and source.scope_of(node) is scope:
                    yield node
        elif isinstance(part, ast.Attribute):
            for read in source.every(ast.Attribute):
                if isinstance(read.ctx, ast.Load) and dotted(read) == dotted(part) != "":
                    yield read


def calls_of(source: Source, function: ast.AST) -> Iterator[ast.AST]:
    name = getattr(function, "name", "")
    for call in source.every(ast.Call) if name else ():
        if called(call) == name:
            yield call
