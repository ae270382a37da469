"""Logits are compared column by column, and the two tokenizers number tokens differently.

## What happens
A divergence compares column 5,000 of the teacher with column 5,000 of the student. Where the two
have different tokenizers, these are different tokens, also where the widths are equal or were made
equal by cutting or filling.

## Why it matters
Nothing is reported, and the divergence falls: the student learns to give the probability of one
token to another. A teacher that is given the ids of the student's tokenizer reads another text.

## What to do
Take a teacher of the same family, or distil from the teacher's text. Where two tokenizers must be
used, match tokens by their strings and places by their bytes, as losses for different vocabularies
do.

## How it is recognised
Two tokenizers exist in training that have different tokens under at least 1 % of the ids that both
have. One belongs to each of two models: by its name, by what both are loaded from, or by being as
large as that model's output is wide. A divergence is computed from the logits of both, and between
the models and it stands nothing that could reorder columns (an index of ids, `gather`, `sort`,
`topk`, a product of matrices). Tokenizers that only have more tokens at the end are not reported.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.padded_logits import divergences
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import LossCall, RootSeen, Steps, VocabulariesSeen
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted
from surefit.laws.losses.loss_sources import Entering, Stop, call_at, runs_a_model
from surefit.laws.training.made_names import name_at, names_of_made
from surefit.laws.training.teachers import known_as
from surefit.source.classes import function_called
from surefit.source.reading import Source, called, dotted

RULE = Rule("SF957", "vocabulary-matched-by-position", Severity.ERROR, __doc__)

LEAST_SHARE = 0.01
FEWEST = 2

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


@RULE.on(Steps)
def columns_are_different_tokens(steps: Steps, seen: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    for pair in steps.vocabularies:
        if pair.differing < max(FEWEST, LEAST_SHARE * pair.shared):
            continue
        for loss in divergences(steps.loss_calls):
            source = seen.source(loss.place)
            models = compared(source, loss, steps, pair) if source else None
            if source is not None and models is not None:
                yield found(source, loss, models, pair)
                return


def found(
    source: Source, loss: LossCall, models: tuple[Model, Model], pair: VocabulariesSeen
) -> Finding:
    student, teacher = models
    assert loss.place is not None
    fitted = made_to_fit(source, loss, models)
    return RULE.finding(
        Place(source.file, fitted.lineno, fitted.end_lineno) if fitted else loss.place,
        f"Column i of `{teacher.name}` is compared with column i of `{student.name}`, and under"
        f" {pair.differing:,} of the {pair.shared:,} ids that both have their tokenizers have"
        " different tokens.",
        facts=tuple(facts(source, models, pair, fitted, loss)),
        why="A divergence knows columns, not tokens: the student is taught to give one token the"
        " probability that the teacher gives another.",
        fixes=(
            Fix(
                "Take a teacher with the student's tokenizer, or distil from text that the teacher"
                " wrote; or match tokens by their strings.",
                choice=True,
            ),
        ),
    )


def facts(
    source: Source,
    models: tuple[Model, Model],
    pair: VocabulariesSeen,
    fitted: ast.expr | None,
    loss: LossCall,
) -> Iterator[Fact]:
    for one in models:
        size, at = pair.sizes[one.tokenizer], pair.made_at[one.tokenizer]
        name = tokenizer_names(source, pair).get(pair.serials[one.tokenizer])
        which = f"`{name}`" if name else f"its tokenizer, created at {at},"
        logits = counted(one.root.width or 0, "logit")
        yield Fact(f"`{one.name}`", f"{logits}; {which} has {counted(size, 'token')}")
    if pair.first is not None:
        student, teacher = (repr(pair.tokens[one.tokenizer]) for one in models)
        shown = f"id {pair.first:,}: {student} and, for the teacher, {teacher}"
        yield Fact("the first that differs", shown)
    if fitted is not None:
        yield Fact("cut or filled", f"{code(source.segment(fitted))} at line {fitted.lineno}")
    given = [source.segment(one.call.args[0]) if one.call.args else "" for one in models]
    if given[0] and given[0] == given[1]:
        yield Fact("what both read", f"{code(given[0])}: the same ids, which are two texts to them")
    if loss.place is not None:
        yield Fact("compared", f"{loss.calls:,} times, at line {loss.place.line}")


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
