"""A setting that was left out, by the pattern of those beside it: `"[MASK]"` beside `"[PAD]"`."""

import ast

from surefit.doctor.findings import Place
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.source.reading import Source


def call_at(place: Place | None, case: Case) -> tuple[Source, ast.Call] | None:
    """The only outermost call that begins on a line of the user's."""
    source = case.source(place)
    if source is None or place is None or place.line is None:
        return None
    calls = list(source.calls_in(place.line))
    outermost = [call for call in calls if not set(source.up(call)) & set(calls)]
    return (source, outermost[0]) if len(outermost) == 1 else None


def left_out(name: str, place: Place | None, case: Case) -> tuple[Expression, str] | None:
    """The call that creates an object, and the text that a setting has by the pattern of its
    siblings, where that text is written elsewhere in the user's sources."""
    known = call_at(place, case)
    if known is None or any(keyword.arg in (name, None) for keyword in known[1].keywords):
        return None
    source, call = known
    text = by_pattern(name, call)
    written = any(node.value == text for other, node in case.recording.every(ast.Constant))
    return (case.expression(source, call), text) if text and written else None


def by_pattern(name: str, call: ast.Call) -> str:
    """`[MASK]` for `mask_token` beside `pad_token="[PAD]"`; empty where siblings disagree."""
    stem, _, suffix = name.rpartition("_")
    texts = set()
    for keyword in call.keywords:
        beside, _, ending = (keyword.arg or "").rpartition("_")
        match keyword.value:
            case ast.Constant(value=str(text)) if stem and beside and ending == suffix:
                for old, new in ((beside.upper(), stem.upper()), (beside, stem)):
                    if text.count(old) == 1:
                        texts.add(text.replace(old, new))
    return texts.pop() if len(texts) == 1 else ""
