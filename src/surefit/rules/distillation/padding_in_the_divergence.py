"""A divergence counts padded places, which the loss beside it leaves out.

## What happens
Rows of one batch are padded to one length. Cross entropy passes over padded places, whose label is
-100. `kl_div` has no such label: it compares what both models say at every place, also behind the
end of a text, and a mean over all places counts these as well.

## Why it matters
Nothing is raised, and the loss falls: behind the end both models soon say the same. The student is
trained to copy what the teacher says about padding, and the more padding a batch has, the less the
real places count.

## What to do
Pick the real places before the mean: `kl[mask != 0].mean()`, or `kl_div` of
`student[mask != 0]` and `teacher[mask != 0]`.

## How it is recognised
The frames that a divergence is computed in hold a mask of its rows and places that is ones and then
zeros; or another mask, or labels of -100, where the ids of the batch repeat one token. Where the
backward pass gives these places a gradient as it does others, they are counted. A mask that is
multiplied in, an index, `where`, or a fill leaves nothing there, and a cross entropy that counts
them, too, shows that they are meant: of these nothing is said.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.divergences import PaddingLeftOut
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import DivergenceSeen, PaddingSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted
from surefit.evidence.divergence_callers import is_known_beside, logits_given
from surefit.evidence.divergences import Divergence, divergences_seen, over_looked
from surefit.source.definitions import definition
from surefit.source.edits import Edit, appended, binds_tightly, both, replaced
from surefit.source.reading import Source, called

RULE = Rule("SF958", "padding-in-the-divergence", Severity.ERROR, __doc__)

REDUCES = ("mean", "sum")
OF_CLASSES = ("cross_entropy", "nll_loss")


@RULE.on(Steps)
def padded_places_count(steps: Steps, seen: Recording) -> Iterator[Finding]:
    for one in divergences_seen(steps, seen):
        padded = [call for call in one.seen if call.padding is not None and call.padding.padded]
        if padded and all(is_counted(call) for call in padded):
            yield finding(one, next((call for call in padded if call.beside), padded[0]))


def is_counted(call: DivergenceSeen) -> bool:
    """All of its padding that was looked at, and no loss beside it counts padding as well."""
    padding = call.padding
    if padding is None or not call.place_weight or not padding.counted or not call.given.kind:
        return False
    supervised = [one.labels - one.ignored for one in call.beside if one.name in OF_CLASSES]
    return not padding.spared and all(many <= real_places(call) for many in supervised)


def real_places(call: DivergenceSeen) -> int:
    return call.places - (call.padding.padded if call.padding is not None else 0)


def finding(one: Divergence, call: DivergenceSeen) -> Finding:
    assert call.padding is not None
    reducing = reduced_by(one) if call.reduction == "none" else None
    share = call.padding.share
    made = f": they make {share:.0%} of its term{over_looked(call)}" if share else ""
    return RULE.finding(
        one.place if reducing is None else one.place_of(reducing),
        f"{one.name} counts {call.padding.padded:,} of {counted(call.places, 'place')} that are"
        f" padding{made}.",
        facts=tuple(facts(call, call.padding)),
        why="What the models say behind the end of a row means nothing; averaged over all places,"
        " the divergence is about padding as much as about the text.",
        fixes=(fix(one, call, call.padding, reducing),),
    )


def facts(call: DivergenceSeen, padding: PaddingSeen) -> Iterator[Fact]:
    known = code(padding.known_by or padding.beyond)
    yield Fact("padding", f"{padding.padded:,} places where {known} is {padding.padding_is}")
    yield Fact("real", f"{real_places(call):,} places")
    for term in call.beside:
        if term.ignored:
            yield Fact(f"beside, `{term.name}`", f"leaves out {term.ignored:,} of {term.labels:,}")


def fix(
    one: Divergence, call: DivergenceSeen, padding: PaddingSeen, reducing: ast.Call | None
) -> Fix:
    held = padding.known_by or padding.beyond
    real = f"{held}{'[:, 1:]' if padding.shifted else ''} != {padding.padding_is}"
    text = f"Leave padded places out: only where `{real}`."
    place = Place(one.source.file, one.call.lineno)
    must = PaddingLeftOut(place, call.step, real_places(call))
    if padding.known_by:
        edit = mended(one, call, real, reducing)
        if edit is None:
            return Fix(text, why_not_tried="where its mean is taken was not found for certain")
        return Fix(text, edit, must)
    edit = mended_by_the_caller(one, call, real)
    if edit is None:
        return Fix(
            f"Give {code(held)} to where the divergence is computed, and leave these places out.",
            why_not_tried=f"{code(held)} is not known there",
        )
    return Fix(text, edit, must)


def mended_by_the_caller(one: Divergence, call: DivergenceSeen, real: str) -> Edit | None:
    """The logits of real places alone, where the function asks for no more than the classes."""
    given = logits_given(one)
    whole = call.reduction == "batchmean" and len(call.shape) > 2
    if given is None or whole or call.padding is None or call.padding.shifted:
        return None
    if not all(is_known_beside(one.source, call.padding.beyond, node) for node in given):
        return None
    first, second = (written_anew(one.source, node, f"[{real}]") for node in given)
    return both(first, second)


def mended(
    one: Divergence, call: DivergenceSeen, real: str, reducing: ast.Call | None
) -> Edit | None:
    source, given, target = one.source, one.given, one.target
    flat = len(call.shape) == 2
    index = f"[({real}).reshape(-1)]" if flat else f"[{real}]"
    if call.reduction == "none":
        taken = reduced(source, reducing) if reducing is not None else None
        return appended(source, taken, index) if taken is not None else None
    if given is None or target is None:
        return None
    if call.reduction == "batchmean" and not flat:
        # An index would make rows of places, by whose number the sum is then divided.
        index = f" * ({real}).unsqueeze(-1)"
    return both(written_anew(source, given, index), written_anew(source, target, index))


def written_anew(source: Source, node: ast.expr, index: str) -> Edit:
    """The whole argument, so that another fix can put one more behind it."""
    text = source.segment(node)
    whole = text if binds_tightly(source, node) else f"({text})"
    return replaced(source, node, f"{whole}{index}")


def reduced_by(one: Divergence) -> ast.Call | None:
    """The one `.mean()` or `.sum()` over everything that the divergence of each place comes to, in
    the function that computes it."""
    source = one.source
    found = [
        call
        for call in source.every(ast.Call)
        if source.scope_of(call) is source.scope_of(one.call)
        and called(call) in REDUCES
        and (taken := reduced(source, call)) is not None
        and comes_from(source, taken, one.call)
    ]
    return found[0] if len(found) == 1 else None


def reduced(source: Source, call: ast.Call) -> ast.expr | None:
    """`kl` of `kl.mean()` and of `torch.mean(kl)`; None where an axis is said."""
    if source.imported(call.func).startswith("torch."):
        return call.args[0] if len(call.args) == 1 and not call.keywords else None
    if call.args or call.keywords or not isinstance(call.func, ast.Attribute):
        return None
    return call.func.value


def comes_from(source: Source, node: ast.expr, divergence: ast.Call) -> bool:
    """It is the divergence, or its sum over the classes, by itself or by a name."""
    for _ in range(4):
        if node is divergence:
            return True
        if isinstance(node, ast.Name):
            made = definition(source, node)
            if made is None:
                return False
            node = made
        elif isinstance(node, ast.Call) and is_over_classes(node):
            assert isinstance(node.func, ast.Attribute)
            node = node.func.value
        else:
            return False
    return False


def is_over_classes(call: ast.Call) -> bool:
    """`.sum(-1)` and `.sum(dim=-1)`."""
    given = [*call.args, *(word.value for word in call.keywords if word.arg in ("dim", "axis"))]
    last = [one for one in given if ast.unparse(one) in ("-1", "2")]
    method = isinstance(call.func, ast.Attribute) and call.func.attr == "sum"
    return method and len(given) == len(last) == 1
