"""Rows that come as planned: a stream shared among workers, a sampler of the loader's own rows, a
loader that is asked again."""

import ast

from surefit.doctor.findings import Place
from surefit.laws.case import Case
from surefit.laws.rows.loaders import loader_call
from surefit.source.edits import inserted_before, replaced, with_import
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

DATA = "torch.utils.data"


def shared_among_workers(case: Case, place: Place | None) -> Edit | None:
    """Every worker takes each `num_workers`-th row of what its `__iter__` iterates over."""
    source = case.source(place)
    function = function_at(source, place) if source is not None and place is not None else None
    if source is None or function is None:
        return None
    streams = streams_of(source, function)
    if len(streams) != 1:
        return None
    text = f"islice({source.segment(streams[0])}, first, None, step)"
    lines = (
        "worker = get_worker_info()",
        "first, step = (worker.id, worker.num_workers) if worker else (0, 1)",
    )
    statement = body_of(function)[0]
    edit = both(
        inserted_before(source, statement, "\n".join(lines)), replaced(source, streams[0], text)
    )
    return with_import(with_import(edit, source, "itertools", "islice"), source, DATA, WORKER)


WORKER = "get_worker_info"


def function_at(source: Source, place: Place) -> ast.FunctionDef | None:
    found = [node for node in source.every(ast.FunctionDef) if node.lineno == place.line]
    return found[0] if found else None


def body_of(function: ast.FunctionDef) -> list[ast.stmt]:
    """Without its docstring."""
    first = function.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1:] if is_text and len(function.body) > 1 else function.body


def streams_of(source: Source, function: ast.FunctionDef) -> list[ast.expr]:
    """What its outermost loop that yields iterates over, or what it returns."""
    own = [node for node in ast.walk(function) if source.scope_of(node) is function]
    loops = [node for node in own if isinstance(node, ast.For) and yields(node)]
    outermost = [loop for loop in loops if not any(loop in ast.walk(o) for o in loops if o != loop)]
    if loops:
        return [loop.iter for loop in outermost]
    returned = [node.value for node in own if isinstance(node, ast.Return) and node.value]
    delegated = [node.value for node in own if isinstance(node, ast.YieldFrom)]
    return returned + delegated


def yields(loop: ast.For) -> bool:
    return any(isinstance(node, ast.Yield) for node in ast.walk(loop))


def of_own_rows(case: Case, place: Place | None) -> Edit | None:
    """The loader's dataset for the other one that its sampler is created with."""
    source = case.source(place)
    call = loader_call(source, place) if source is not None and place is not None else None
    dataset = source.argument(call, "dataset", 0) if source is not None and call else None
    sampler = source.argument(call, "sampler", 3) if source is not None and call else None
    made = source.value_of(sampler) if source is not None and sampler is not None else None
    if source is None or dataset is None or not isinstance(made, ast.Call) or not made.args:
        return None
    return replaced(source, made.args[0], source.segment(dataset))


def asked_again(case: Case, place: Place | None, loader: str | None) -> Edit | None:
    """A generator that begins the loader again, for `itertools.cycle(loader)`."""
    source = case.source(place)
    if source is None or loader is None:
        return None
    calls = [
        call
        for call in source.every(ast.Call)
        if called(call) == "cycle" and [source.segment(given) for given in call.args] == [loader]
    ]
    if len(calls) != 1:
        return None
    text = f"(batch for _ in count() for batch in {loader})"
    return with_import(replaced(source, calls[0], text), source, "itertools", "count")
