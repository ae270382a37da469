"""A standard deviation of one element and a mean of none, which are NaN, guarded."""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.gradient_births import ForwardValue
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.losses.birth_words import SPREADS, is_of_nothing, is_of_single_elements
from surefit.laws.operations.operation_calls import computed_on
from surefit.laws.training.rounds import innermost
from surefit.remedies.change import Change
from surefit.source.edits import argument_added, replaced
from surefit.source.reading import Source, called
from surefit.source.selection import calls_within

PLAIN = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Load, ast.Tuple, ast.Slice)


def of_few_elements(case: Case, value: ForwardValue, must: Condition | None) -> Iterator[Remedy]:
    """Nothing where the line does not have the operation just once."""
    here = innermost(case.recording, value.stack)
    if here is None or not here.is_simple:
        return
    calls = list(calls_within(here.statement, value.name))
    if len(calls) != 1:
        return
    if is_of_single_elements(value):
        yield from of_one_element(here.source, calls[0], must)
    elif is_of_nothing(value):
        yield from of_no_element(here.source, calls[0], must)


def of_one_element(source: Source, call: ast.Call, must: Condition | None) -> Iterator[Remedy]:
    operand = computed_on(source, call)
    if operand is not None and is_plain(operand) and value_is_single(source, call):
        text, whole = source.segment(operand), source.segment(call)
        guard = f"({whole} if {text}.numel() > 1 else {text}.new_ones(()))"
        words = f"Divide by 1 where {code(text)} has a single element."
        yield Change(to=replaced(source, call, guard), words=words, must=must)
    named = {keyword.arg for keyword in call.keywords}
    name, number = ("unbiased", "False") if "unbiased" in named else ("correction", "0")
    what = SPREADS[called(call)]
    words = (
        f"Or take the {what} of the population, which is 0 of a single element:"
        f" `{name}={number}`. Every other {what} becomes a little smaller."
    )
    yield Change(to=argument_added(source, call, name, number), words=words, must=must, choice=True)


def value_is_single(source: Source, call: ast.Call) -> bool:
    """Over all elements: no axis is named."""
    by_function = source.imported(call.func).startswith("torch")
    return not call.keywords and len(call.args) == int(by_function)


def of_no_element(source: Source, call: ast.Call, must: Condition | None) -> Iterator[Remedy]:
    operand = computed_on(source, call)
    if operand is None or not is_plain(operand) or not value_is_single(source, call):
        return
    text = source.segment(operand)
    guard = f"({source.segment(call)} if {text}.numel() else {text}.sum())"
    words = f"Take 0 where {code(text)} has no elements."
    yield Change(to=replaced(source, call, guard), words=words, must=must)


def is_plain(node: ast.expr) -> bool:
    """Reading it again costs nothing and changes nothing."""
    return all(isinstance(part, PLAIN) for part in ast.walk(node))
