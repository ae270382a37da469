"""Arguments that a prepared value is meant for, by its name, and the call that is not given it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.evaluation_names import HELD_OUT, words_of
from surefit.source.callers import is_open, takes_itself
from surefit.source.classes import Method
from surefit.source.outcomes import function_run
from surefit.source.reading import Source, called, targets
from surefit.source.unread import UnreadName

LOADER = "DataLoader"
CLASS_WORDS = frozenset(("class", "classes", "label", "loss", "ce", "weight", "weights"))
WEIGHED = ("CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss")
"""Losses that take a weight for each class."""
TRAINING = frozenset(("train", "training"))
MASKS = frozenset(("mask", "attention_mask", "padding_mask", "key_padding_mask", "lengths"))
"""Arguments of a `forward` that leave padding out."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """A call, and the argument that it lacks."""

    call: ast.Call
    argument: str


def receiver(source: Source, unread: UnreadName) -> Receiver | None:
    """None unless exactly one call of the scope fits."""
    if isinstance(unread.binder, ast.arg):
        return None
    found = [
        fitting
        for node in ast.walk(unread.scope)
        if isinstance(node, ast.Call) and node.lineno > binder_line(unread)
        if source.scope_of(node) is unread.scope and not is_open(node)
        for fitting in receivers(source, unread, node)
    ]
    if len(found) > 1:
        found = [fitting for fitting in found if is_alike(source, unread.name, fitting.call)]
    return found[0] if len(found) == 1 else None


def binder_line(unread: UnreadName) -> int:
    return int(getattr(unread.binder, "lineno", 0))


def receivers(source: Source, unread: UnreadName, call: ast.Call) -> Iterator[Receiver]:
    words = words_of(unread.name)
    computed = isinstance(unread.binder, ast.Assign) and isinstance(unread.binder.value, ast.Call)
    if computed and called(call) == LOADER:
        for word, argument in (("sampler", "sampler"), ("collate", "collate_fn")):
            if word in words and not has(call, argument, "batch_sampler", "sampler"):
                yield Receiver(call, argument)
    elif computed and called(call) in WEIGHED and is_of_classes(unread.name):
        argument = "pos_weight" if "pos" in words else "weight"
        if not call.args and not has(call, "weight", "pos_weight"):
            yield Receiver(call, argument)
    elif unread.name in MASKS:
        function = function_run(source, call)
        if function is not None and lacks(source, function, call, unread.name):
            yield Receiver(call, unread.name)


def is_of_classes(name: str) -> bool:
    """`class_weights`, `weights`, `pos_weight`; not `sample_weights`."""
    words = words_of(name)
    return bool(words & {"weight", "weights"}) and words <= CLASS_WORDS | {"pos"}


def has(call: ast.Call, *arguments: str) -> bool:
    return any(keyword.arg in arguments for keyword in call.keywords)


def lacks(source: Source, function: Method, call: ast.Call, argument: str) -> bool:
    """It takes the argument by this name, has a default for it, and reads it."""
    listed = function.args
    skipped = 1 if takes_itself(source, function, call) else 0
    plain = [entry.arg for entry in (*listed.posonlyargs, *listed.args)][skipped:]
    optional = plain[len(plain) - len(listed.defaults) :] if listed.defaults else []
    optional += [entry.arg for entry in listed.kwonlyargs]
    reads = any(isinstance(node, ast.Name) and node.id == argument for node in ast.walk(function))
    given = has(call, argument) or (argument in plain and len(call.args) > plain.index(argument))
    return argument in optional and reads and not given


def is_alike(source: Source, name: str, call: ast.Call) -> bool:
    """`train_sampler`, or `sampler`, for `train_loader = DataLoader(...)`."""
    statement = source.statement_of(call)
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    words = {word for node in targets(statement) for word in words_of(source.segment(node))}
    return bool(words & TRAINING) and not words_of(name) & HELD_OUT
