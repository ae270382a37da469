"""Two models whose logits a divergence compares column by column, and the tokenizer of each."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import LossCall, RootSeen, Steps, VocabulariesSeen
from surefit.laws.loss_sources import Entering, Stop, call_at, runs_a_model
from surefit.laws.made_names import name_at, names_of_made
from surefit.laws.teachers import known_as
from surefit.source.classes import function_called
from surefit.source.reading import Source, called, dotted

KEEPS_COLUMNS = frozenset(
    (
        *("softmax", "log_softmax", "kl_div", "float", "double", "half", "to", "cpu", "cuda"),
        *("detach", "clone", "contiguous", "view", "reshape", "flatten", "squeeze", "unsqueeze"),
        *("pad", "cat", "clamp", "exp", "log", "narrow", "sum", "mean", "masked_fill", "where"),
        *("KLDivLoss", "LogSoftmax", "Softmax", "bfloat16", "masked_select", "type", "log1p"),
    )
)


@dataclass(frozen=True, slots=True)
class Model:
    """A model, the call of it that enters a divergence, and its tokenizer."""

    root: RootSeen
    call: ast.Call
    tokenizer: int
    """First or second of the two."""
    name: str


def compared(
    source: Source, loss: LossCall, steps: Steps, pair: VocabulariesSeen
) -> tuple[Model, Model] | None:
    """The trained model and the other, where columns stay as they are up to the divergence."""
    calls = {
        call: root
        for root in steps.roots
        for site in root.sites
        if site.place.file == source.file and (call := call_at(source, site)) is not None
    }
    stop = runs_a_model(source, {dotted(call.func) for call in calls})
    entering = entering_divergence(source, loss, stop)
    used = [(call, root) for call, root in calls.items() if call in entering.nodes]
    trained = [(call, root) for call, root in used if root.held]
    asked = [(call, root) for call, root in used if not root.held]
    if not trained or not asked:
        return None
    ways = entering.on_the_way(trained[0][0]) | entering.on_the_way(asked[0][0])
    if any(reorders(source, node, stop) for node in ways):
        return None
    first, second = (belonging(source, *used, pair) for used in (trained[0], asked[0]))
    if first is None or second is None or first.tokenizer == second.tokenizer:
        return None
    return first, second


def entering_divergence(source: Source, loss: LossCall, stop: Stop) -> Entering:
    """Values that enter `F.kl_div(...)`, or a call of what `KLDivLoss` made."""
    line = loss.place.line if loss.place else None
    found = [
        one
        for one in (source.calls_in(line) if line else ())
        if called(one) == "kl_div" or is_criterion(source, one)
    ]
    entering = Entering(source, stop, values=True)
    entering.follow(found[0] if len(found) == 1 else None)
    return entering


def reorders(source: Source, node: ast.AST, stop: Stop) -> bool:
    """It could put other columns where these were."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    if isinstance(node, ast.Subscript):
        return indexes_columns(node)
    if isinstance(node, ast.Call):
        own = function_called(source, node) is not None
        known = called(node) in KEEPS_COLUMNS or stop(node)
        return not known and not own and not is_criterion(source, node)
    return False


def indexes_columns(node: ast.Subscript) -> bool:
    """`[..., ids]` or `[:, :, ids]`; `[..., :n]` and `[mask]` leave the order as it is."""
    if not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) < 2:
        return False
    return not isinstance(node.slice.elts[-1], ast.Slice | ast.Constant)


def is_criterion(source: Source, node: ast.Call) -> bool:
    made = source.value_of(node.func)
    return isinstance(made, ast.Call) and called(made) in KEEPS_COLUMNS


def belonging(
    source: Source, call: ast.Call, root: RootSeen, pair: VocabulariesSeen
) -> Model | None:
    """Which of the two tokenizers a model has; None where nothing or more than one thing says."""
    nodes = known_as(source, call)
    names = {dotted(one).rpartition(".")[2].lower() for one in nodes}
    loaded = loaded_from(source, root.made_at)
    signs: set[int] = set()
    for number, made_at in enumerate(pair.made_at):
        name = tokenizer_names(source, pair).get(pair.serials[number], "").lower()
        by_name = any(one and word_of(one) in name for one in names)
        by_file = bool(loaded) and loaded == loaded_from(source, made_at)
        by_size = pair.sizes[number] == root.width and len(set(pair.sizes)) > 1
        if by_name or by_file or by_size:
            signs.add(number)
    return Model(root, call, signs.pop(), dotted(nodes[0])) if len(signs) == 1 else None


def tokenizer_names(source: Source, pair: VocabulariesSeen) -> dict[int, str]:
    if pair.made_at[0] == pair.made_at[1]:
        return names_of_made(source, pair.made_at[0], pair.serials)
    places = zip(pair.serials, pair.made_at, strict=True)
    return {serial: name_at(source, place) or "" for serial, place in places}


def word_of(name: str) -> str:
    """`teacher` for `teacher_model`."""
    return name.removesuffix("model").rstrip("_") or name


def loaded_from(source: Source, place: Place | None) -> str:
    """What stands in the brackets of `from_pretrained`."""
    line = place.line if place else None
    for call in source.calls_in(line) if line else ():
        if called(call) == "from_pretrained" and call.args:
            return source.segment(call.args[0])
    return ""


def made_to_fit(source: Source, loss: LossCall, models: tuple[Model, Model]) -> ast.expr | None:
    """The cut or fill by which two widths became one."""
    widths = {one.root.width for one in models}
    if len(widths) < 2:
        return None
    stop = runs_a_model(source, {dotted(one.call.func) for one in models})
    entering = entering_divergence(source, loss, stop)
    ways = set().union(*(entering.on_the_way(one.call) for one in models))
    fits = [node for node in ways if isinstance(node, ast.expr) and cuts_or_fills(node)]
    return min(fits, key=lambda node: (node.lineno, node.col_offset), default=None)


def cuts_or_fills(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return called(node) in ("pad", "narrow", "cat")
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return False
    last = node.slice.elts[-1]
    return len(node.slice.elts) > 1 and isinstance(last, ast.Slice) and last.upper is not None
