"""A call gives a function of an installed library only arguments that its signature has."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame, Question
from surefit.doctor.violations import Violation
from surefit.laws.case import Case
from surefit.laws.libraries.argument_successors import CallSignature, Successor, successor_of
from surefit.source.dictionary_keys import Key, keys_of
from surefit.source.fields import is_changed
from surefit.source.installed import arguments_taken, is_shadowed, version
from surefit.source.reading import Source, dotted
from surefit.source.tried_first import is_tried_first

Arguments = dict[str, Key]
"""Names that a call gives, and where each is written."""


@dataclass(frozen=True, slots=True)
class Signatures:
    """Of functions, by the text that the source has for each."""

    probe: ClassVar[str] = "signature"

    functions: dict[str, CallSignature]


@dataclass(frozen=True, kw_only=True)
class ArgumentsNotTaken(Violation):
    """A call gives a function names that it does not take."""

    source: Source
    call: ast.Call
    signature: CallSignature
    arguments: Arguments
    signatures: Mapping[str, CallSignature]
    """Of this and of other functions of the file."""
    others: tuple["ArgumentsNotTaken", ...] = field(default=())
    """Calls that would fail next, each with a known successor for every name."""
    question: Question | None = None
    """By which the signatures were asked; None where the library was only read."""

    @cached_property
    def successors(self) -> tuple[Successor, ...]:
        inner = self.values_of_calls()
        return tuple(
            successor_of(name, self.arguments, self.signature, inner)
            for name in self.arguments
            if name not in self.signature.takes
        )

    @property
    def explained(self) -> bool:
        return all(successor.known for successor in self.successors)

    @property
    def place(self) -> Place:
        lines = [successor.key.lineno for successor in self.successors]
        return Place(self.source.file, min(lines, default=self.call.lineno))

    def values_of_calls(self) -> dict[ast.Call, CallSignature]:
        """Calls whose values this one is given, such as that of its settings."""
        nodes = (*self.call.args, *(keyword.value for keyword in self.call.keywords))
        calls = [
            value for node in nodes if isinstance(value := self.source.value_of(node), ast.Call)
        ]
        texts = {call: self.source.segment(call.func) for call in calls}
        return {
            call: self.signatures[text] for call, text in texts.items() if text in self.signatures
        }


def violations_of(case: Case) -> Iterator[Violation]:
    crash, frame = case.crash, case.own
    source, call = case.source(frame), case.node(frame)
    if crash is None or frame is None or source is None or crash.kind != "TypeError":
        return
    if not isinstance(call, ast.Call) or not call.keywords:
        return
    imported = [node for node in source.every(ast.Call) if source.imported(node.func)]
    texts = dict.fromkeys(source.segment(node.func) for node in (call, *imported) if node.keywords)
    about = {"frame": case.number, "texts": list(texts)}
    known = case.ask(Signatures, **about)
    signatures = {
        text: signature
        for text, signature in (known.functions if known else {}).items()
        if signature.package and not signature.any
    }
    question = case.answered("signature", **about)
    others = [
        other
        for node in source.every(ast.Call)
        if node is not call
        and (other := broken_by(case, source, node, signatures)) is not None
        and other.explained
    ]
    broken = broken_by(case, source, call, signatures, frame, tuple(others), question)
    if broken is not None:
        yield broken


def broken_by(
    case: Case,
    source: Source,
    call: ast.Call,
    signatures: Mapping[str, CallSignature],
    frame: Frame | None = None,
    others: tuple[ArgumentsNotTaken, ...] = (),
    question: Question | None = None,
) -> ArgumentsNotTaken | None:
    """`frame`: in which the call failed."""
    signature = signatures.get(source.segment(call.func))
    arguments = dict(arguments_of(source, call, frame)) if signature is not None else {}
    if signature is None or all(name in signature.takes for name in arguments):
        return None
    return ArgumentsNotTaken(
        use=case.expression(source, call),
        source=source,
        call=call,
        signature=signature,
        arguments=arguments,
        signatures=signatures,
        others=others,
        question=question,
    )


def arguments_of(
    source: Source, call: ast.Call, frame: Frame | None = None
) -> Iterator[tuple[str, Key]]:
    """Also of dictionaries that are unpacked with two stars: by the source or, of the call that
    failed, by what the dictionary held."""
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword
        else:
            written = list(keys_of(source, keyword.value))
            yield from written or held(source, keyword, frame)


def held(source: Source, unpacked: ast.keyword, frame: Frame | None) -> Iterator[tuple[str, Key]]:
    """What a frame has for the dictionary, each name with its key where just one dictionary of the
    file has the same names."""
    value = frame.value(ast.unparse(unpacked.value)) if frame is not None else None
    names = list(value.members) if value is not None and value.kind == "dict" else []
    displays = [dict(keys_of(source, display)) for display in source.every(ast.Dict)]
    same = [display for display in displays if set(display) == set(names)]
    keys: Arguments = same[0] if len(same) == 1 else {}
    yield from ((name, keys.get(name, unpacked)) for name in names)


def violations_in_source(case: Case, source: Source) -> Iterator[Violation]:
    """By the source of the installed libraries, which are not imported."""
    signatures = read_signatures(source)
    for call in source.every(ast.Call) if signatures else ():
        broken = broken_by(case, source, call, signatures) if call.keywords else None
        if broken and not is_tried_first(source, call) and not can_be_removed(broken):
            yield broken


def read_signatures(source: Source) -> dict[str, CallSignature]:
    """Of imported functions that calls of the file give a name which they do not take."""
    signatures: dict[str, CallSignature] = {}
    for name, calls in source.imported_calls.items():
        package = name.partition(".")[0]
        named = [call for call in calls if call.keywords]
        takes = arguments_taken(name) if named and package else None
        if takes is None or is_shadowed(package, source.file):
            continue
        if all(key in takes for call in named for key in dict(arguments_of(source, call))):
            continue
        last = name.rpartition(".")[2]
        signature = CallSignature(last, package, version(package), tuple(sorted(takes)))
        signatures |= {source.segment(call.func): signature for call in named}
    return signatures


def can_be_removed(broken: ArgumentsNotTaken) -> bool:
    """An argument that comes from a dictionary which the file changes somewhere."""
    keywords = broken.call.keywords
    stars = [word.value for word in keywords if word.arg is None and dotted(word.value)]
    own = {word.arg for word in keywords}
    return any(
        successor.old not in own and is_changed(broken.source, star, successor.old)
        for successor in broken.successors
        for star in stars
    )
