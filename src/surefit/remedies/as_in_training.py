"""Evaluation data prepared by the expressions of training, or without one that training lacks."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Place
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import HELD_OUT, TRAINED, words_of
from surefit.laws.rows.data_stages import (
    PartedWays,
    Stage,
    best_of,
    inside,
    is_selection,
    outermost,
)
from surefit.remedies.change import OperatorAt
from surefit.remedies.wrap import TIGHT
from surefit.source.callers import calls_that_run, given_in
from surefit.source.classes import Method, set_on_self
from surefit.source.edits import argument_added, argument_removed, inserted_after, removed, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source, called
from surefit.source.selection import nodes_within

OF_ROWS = (
    TRAINED
    | HELD_OUT
    | frozenset(
        ("split", "subset", "fold", "indices", "index", "seed", "shuffle", "batch", "path", "file")
        + ("rows", "start", "stop", "sampler", "augment", "name", "label", "labels", "target")
        + ("drop", "size", "workers", "root", "x", "y", "data", "device")
        + ("n", "num", "count", "length", "total")
    )
)
"""Words of settings that choose rows, not how they are prepared."""
DRAWING = frozenset(
    ("rand", "randn", "randint", "rand_like", "randn_like", "normal", "uniform", "bernoulli")
    + ("dropout", "randperm", "permutation", "beta", "multinomial", "choice", "shuffle", "random")
)
"""Functions that draw random numbers: what has one is augmentation."""
FITS = {"fit_transform": "transform"}
"""What is fitted on training rows, and how it is applied to others."""
MOST_PAIRS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AsInTraining(OperatorAt):
    """An edit of what evaluation data comes through."""

    to: Edit

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        return self.to


def remedies(parting: PartedWays, must: Condition) -> Iterator[AsInTraining]:
    """What follows from ranges of values first, then what follows from the source alone."""
    yield from left_out(parting, must)
    yield from given_alike(parting, must)
    yield from applied(parting, must)
    yield from with_settings(parting, must)
    yield from written_alike(parting, must)


def left_out(parting: PartedWays, must: Condition) -> Iterator[AsInTraining]:
    """An expression of evaluation alone takes what is like training, and gives what is not."""
    for stage in outermost(parting.only_evaluation):
        parts = inside(stage, parting.evaluation)
        before = best_of([(part, parting.like_training(part.producer.value)) for part in parts])
        after = parting.like_training(stage.producer.value)
        if before is None or after is not None:
            continue
        words = f"Leave `{short(stage.text)}` out: training does without it."
        yield AsInTraining(
            at=place_of(stage), words=words, must=must, to=without(stage, before.text)
        )


def without(stage: Stage, text: str) -> Edit:
    """A statement that would assign a name to itself goes as a whole."""
    source, statement = stage.source, stage.source.statement_of(stage.node)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if name == text:
            if statement.value is stage.node and not shares_lines(source, statement):
                return removed(source, statement)
    return replaced(source, stage.node, text)


@dataclass(frozen=True, slots=True)
class Preparation:
    """An expression of training, with the place of its data left open."""

    stage: Stage
    data: Stage

    def of(self, text: str) -> str:
        source, written = self.stage.source, self.stage.text
        first = offset(source, self.data.node) - offset(source, self.stage.node)
        return written[:first] + text + written[first + len(self.data.text) :]


def offset(source: Source, node: ast.expr) -> int:
    """Characters before an expression in its file."""
    span = source.span(node)
    return sum(len(line) + 1 for line in source.lines[: span.line - 1]) + span.column


def applied(parting: PartedWays, must: Condition) -> Iterator[AsInTraining]:
    """What training alone does to data that are like those of evaluation, done to these."""
    for stage in outermost(parting.only_training):
        parts = inside(stage, parting.training)
        if draws(stage.node) or is_selection(stage):
            continue
        if parting.like_training(stage.producer.value) is None:
            continue
        data = best_of([(part, parting.like_evaluation(part.producer.value)) for part in parts])
        if data is None:
            continue
        preparation = Preparation(stage, data)
        yield from beside(preparation, parting, must)
        for place in where_evaluated(parting):
            text = for_others(preparation.of(closed(place)))
            if text != stage.text and is_visible(text, place):
                words = f"Prepare the evaluation as the training: `{short(text)}`."
                edit = replaced(place.source, place.node, text)
                yield AsInTraining(at=place_of(place), words=words, must=must, to=edit)


def beside(
    preparation: Preparation, parting: PartedWays, must: Condition
) -> Iterator[AsInTraining]:
    """`x_val = (x_val - mean) / std` after the statement that does this for `x_train`."""
    stage = preparation.stage
    source, statement = stage.source, stage.source.statement_of(stage.node)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is stage.node:
            if name != preparation.data.text or shares_lines(source, statement):
                return
        case _:
            return
    for place in outermost(parting.only_evaluation):
        other = name_of(place)
        same_scope = source.scope_of(place.node) is source.scope_of(stage.node)
        if other and place.source is source and same_scope and place.node.lineno < statement.lineno:
            text = f"{other} = {for_others(preparation.of(other))}"
            words = f"Prepare the evaluation as the training: `{short(text)}`."
            edit = inserted_after(source, statement, text)
            yield AsInTraining(at=place_of(place), words=words, must=must, to=edit)
            return


def where_evaluated(parting: PartedWays) -> Iterator[Stage]:
    """Expressions of evaluation alone, and what the user's own line calls the model with."""
    for stage in outermost(parting.only_evaluation):
        if parting.like_evaluation(stage.producer.value) is not None:
            yield stage
    handed = parting.handed_over
    if handed is not None:
        yield handed


def name_of(stage: Stage) -> str:
    """The name that the value of an expression is assigned to, also among others."""
    statement = stage.source.statement_of(stage.node)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is stage.node:
            return name
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            for target, value in zip(names, values, strict=False):
                if value is stage.node and isinstance(target, ast.Name):
                    return target.id
    return ""


def closed(stage: Stage) -> str:
    return stage.text if isinstance(stage.node, TIGHT) else f"({stage.text})"


def for_others(text: str) -> str:
    for fitted, plain in FITS.items():
        text = text.replace(f".{fitted}(", f".{plain}(")
    return text


def given_alike(parting: PartedWays, must: Condition) -> Iterator[AsInTraining]:
    """Both come through the same expression, with another function or number in it: that which
    training gave when its dataset was created."""
    known = {stage.key for stage in parting.training}
    shared = [stage for stage in parting.evaluation if stage.key in known]
    arguments = {found: stage for stage in shared for found in arguments_in(stage)}
    for argument, stage in arguments.items():
        source = stage.source
        given = [(call, value) for call, value in every_given(source, argument) if not draws(value)]
        trained = {source.segment(value) for call, value in given if is_for(source, call, TRAINED)}
        if len(trained) != 1:
            continue
        (text,) = trained
        for call, value in given:
            if source.segment(value) == text or not is_for(source, call, HELD_OUT):
                continue
            span, words = source.span(value), f"Give `{short(text)}`, as for training."
            at = Expression(place_at(source, value), span, source.segment(value))
            yield AsInTraining(at=at, words=words, must=must, to=replaced(source, value, text))


def arguments_in(stage: Stage) -> Iterator[ast.arg]:
    """Of functions of the file, also of the `__init__` that has kept them on `self`."""
    for node in ast.walk(stage.node):
        kept = set_on_self(stage.source, node) if isinstance(node, ast.Attribute) else node
        bound = stage.source.bound_by(kept) if isinstance(kept, ast.Name) else []
        for binder in bound if len(bound) == 1 else ():
            if isinstance(binder, ast.arg) and not words_of(binder.arg) & OF_ROWS:
                yield binder


def every_given(source: Source, argument: ast.arg) -> list[tuple[ast.Call, ast.expr]]:
    """What each call gives, where it gives something."""
    function = source.parents[source.parents[argument]]
    calls = calls_that_run(source, function) if isinstance(function, Method) else None
    pairs = [(call, given_in(source, function, call, argument)) for call in calls or ()]
    return [
        (call, value) for call, value in pairs if value is not None and call in source.up(value)
    ]


def is_for(source: Source, call: ast.Call, words: frozenset[str]) -> bool:
    """By the names of the statement, `train_loader = ...`, with none of the others."""
    others = (TRAINED | HELD_OUT) - words
    known = words_of(source.segment(source.statement_of(call)))
    return bool(known & words) and not known & others


def with_settings(parting: PartedWays, must: Condition) -> Iterator[AsInTraining]:
    """The same function is called on both sides; settings of one alone."""
    ours, others = calls_of(parting.only_training), calls_of(parting.only_evaluation)
    for source, call in others:
        for trained_source, trained in ours:
            same = trained_source.segment(trained.func) == source.segment(call.func)
            if not same or (call.lineno, call.col_offset) == (trained.lineno, trained.col_offset):
                continue
            edit, words = settings_of(trained_source, trained, source, call)
            if edit is not None:
                at = Expression(place_at(source, call), source.span(call), source.segment(call))
                yield AsInTraining(at=at, words=words, must=must, to=edit)
            break


def calls_of(stages: list[Stage]) -> list[tuple[Source, ast.Call]]:
    """Calls among these expressions, and those that one of them is an argument of."""
    found: dict[ast.Call, Source] = {}
    for stage in stages:
        outer = stage.source.parents.get(stage.node)
        outer = stage.source.parents.get(outer) if isinstance(outer, ast.keyword) else outer
        for node in (stage.node, outer):
            if isinstance(node, ast.Call) and node.func is not stage.node:
                found.setdefault(node, stage.source)
    return [(source, call) for call, source in found.items()]


def settings_of(
    trained_source: Source, trained: ast.Call, source: Source, call: ast.Call
) -> tuple[Edit | None, str]:
    """Keywords that the call of training has, and no others."""
    before, after = keywords(trained_source, trained), keywords(source, call)
    added = {name: text for name, text in before.items() if after.get(name) != text}
    gone = [name for name in after if name not in before]
    edits = [argument_added(source, call, name, text) for name, text in added.items()]
    if len(gone) + len(added) != 1:
        return None, ""  # several at once: which of them, is not known
    if gone:
        value = next(word.value for word in call.keywords if word.arg == gone[0])
        if not isinstance(value, ast.Constant):
            return None, ""
        edits = [argument_removed(source, call, gone[0])]
        return all_of(edits), f"Leave `{gone[0]}` out, as the call of training does."
    ((name, text),) = added.items()
    return all_of(edits), f"Pass `{name}={short(text)}`, as the call of training does."


def keywords(source: Source, call: ast.Call) -> dict[str, str]:
    """Settings by keyword that do not choose rows."""
    return {
        word.arg: source.segment(word.value)
        for word in call.keywords
        if word.arg is not None
        and not words_of(word.arg) & OF_ROWS
        and not any(words_of(node.id) & OF_ROWS for node in nodes_within(word.value, ast.Name))
    }


def written_alike(parting: PartedWays, must: Condition) -> Iterator[AsInTraining]:
    """An expression of training with the data of evaluation, in place of that of evaluation."""
    ours = outermost(parting.only_training)[:MOST_PAIRS]
    for place in outermost(parting.only_evaluation)[:MOST_PAIRS]:
        for stage in ours:
            parts, others = inside(stage, parting.training), inside(place, parting.evaluation)
            alike = is_alike(stage, place) and not draws(stage.node)
            if not parts or not others or not alike:
                continue
            text = for_others(Preparation(stage, parts[-1]).of(others[-1].text))
            if text in (stage.text, place.text) or not is_visible(text, place):
                continue
            words = f"Prepare the evaluation as the training: `{short(text)}`."
            edit = replaced(place.source, place.node, text)
            yield AsInTraining(at=place_of(place), words=words, must=must, to=edit)


def is_alike(stage: Stage, place: Stage) -> bool:
    """Calls of the same function, or columns that are chosen from a table by their names."""
    match stage.node, place.node:
        case ast.Call(func=first), ast.Call(func=second):
            return ast.unparse(first) == ast.unparse(second)
        case ast.Subscript(slice=ast.Slice() | ast.Constant()), _:
            return False
        case ast.Subscript(), ast.Subscript(slice=ast.Slice() | ast.Constant()):
            return False
        case ast.Subscript(), ast.Subscript():
            return True
    return False


def draws(node: ast.expr) -> bool:
    calls = (inner for inner in nodes_within(node, ast.Call))
    return any(called(call) in DRAWING for call in calls)


def is_visible(text: str, place: Stage) -> bool:
    """Every name of the text has a value where it would stand."""
    tree = ast.parse(text, mode="eval")
    written = list(nodes_within(tree, ast.Name))
    bound = {node.id for node in written if isinstance(node.ctx, ast.Store)}
    names = {node.id for node in written} - bound
    return all(is_bound(name, place) or hasattr(builtins, name) for name in names)


def is_bound(name: str, place: Stage) -> bool:
    source, scope = place.source, place.source.scope_of(place.node)
    inside_names = {node.id for node in nodes_within(place.node, ast.Name)}
    if name in inside_names:
        return True
    module = isinstance(scope, ast.Module)
    for node in source.nodes:
        match node:
            case ast.Name(id=known, ctx=ast.Store()) if known == name:
                here = source.scope_of(node)
                earlier = node.lineno < place.node.lineno
                if (here is scope and earlier) or (isinstance(here, ast.Module) and not module):
                    return True
            case ast.FunctionDef(name=known) | ast.ClassDef(name=known) if known == name:
                return True
            case ast.arg(arg=known) if known == name and source.scope_of(node) is scope:
                return True
            case ast.alias(name=known, asname=other) if name in (known.split(".")[0], other):
                return True
    return False


def place_of(stage: Stage) -> Expression:
    return Expression(place_at(stage.source, stage.node), stage.source.span(stage.node), stage.text)


def place_at(source: Source, node: ast.expr) -> Place:
    end = node.end_lineno if node.end_lineno != node.lineno else None
    return Place(source.file, node.lineno, end)


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."
