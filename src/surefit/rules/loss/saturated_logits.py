"""A clamp holds back every value on the way to the loss, so that no gradient passes.

## What happens
Beyond its bounds a clamp gives the bound itself: its slope there is zero. If every element lies
beyond, the gradient of every parameter before it is exactly zero, and the loss is what the bounds
alone make of it: for logits that all come to one bound, the logarithm of the number of classes.

## Why it matters
Nothing is reported: the loss is finite, the optimizer steps, weight decay even moves the weights.
No learning rate or loss weight helps: each is multiplied by zero. The logits of published GPT-2
weights lie near -60: bounds of ±10, put in against overflow, hold back all of them.

## What to do
Take the clamp away. Logits of any size are safe in `cross_entropy`, which subtracts the greatest
one first; where numbers really overflow, compute that part in float32.

## How it is recognised
Every gradient of every parameter of an optimizer was exactly zero at every step looked at. A second
run shows a clamp (`clamp`, `hardtanh`, `relu6`, `minimum` with a number...) beyond whose bounds
lies every element, and no other way from the loss to a parameter. A loss of exactly zero is not
reported: there nothing is left to learn.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.parameters import GradientsFlow
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Operation, ParameterSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, spoken
from surefit.evidence.loss_arithmetic import uniform_guess
from surefit.evidence.stories import LossStory, story_of_loss
from surefit.source.edits import Edit, binds_tightly, removed, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Source, called, targets

RULE = Rule("SF401", "saturated-logits", Severity.ERROR, __doc__)

FEWEST_STEPS = 2
PROOF_STEPS = 2
CLAMPS = (
    *("clamp", "clamp_", "clip", "clip_", "hardtanh", "hardtanh_", "relu6", "hardsigmoid"),
    *("minimum", "maximum", "fmin", "fmax", "min", "max"),
)
LAYERS = {"hardtanh": ("Hardtanh", "ReLU6"), "relu6": ("ReLU6",), "hardsigmoid": ("Hardsigmoid",)}
SAFE = ("binary_cross_entropy_with_logits", "cross_entropy")
"""Losses that take logits of any size."""


@RULE.on(Steps)
def no_gradient_passes_a_clamp(steps: Steps, recording: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0) or not every_gradient_is_zero(steps):
        return
    story = story_of_loss(recording, 0)
    closed = [each for each in story.operations if is_closed(each)] if story else []
    if story is None or not closed or closed[0].place is None or story.past_clamps:
        return
    clamp, place = closed[0], closed[0].place
    source = recording.source(place)
    call, layer = (
        (clamp_call(source, clamp), clamp_layer(source, clamp)) if source else (None, None)
    )
    yield RULE.finding(
        Place(place.file, layer.lineno, layer.end_lineno) if layer else place,
        headline(clamp, source, call or layer),
        facts=tuple(facts(clamp, steps, story, source)),
        ruled_out=tuple(ruled_out(steps)),
        why="Beyond its bounds a clamp is constant, and the slope of a constant is zero: every"
        " parameter before it gets a gradient of exactly zero, at every step.",
        fixes=(fix(source, call, story),),
    )


def every_gradient_is_zero(steps: Steps) -> bool:
    """Zero, not absent: of a parameter that takes no part nothing can be said."""
    present = taking_part(steps)
    if steps.steps < FEWEST_STEPS or steps.losses_not_finite or not present:
        return False
    if steps.least_loss in (None, 0.0) or steps.greatest_loss == 0.0:
        return False
    return all(each.zero == each.looked - each.absent and not each.not_finite for each in present)


def taking_part(steps: Steps) -> list[ParameterSeen]:
    return [each for each in steps.parameters if each.looked > each.absent]


def is_closed(operation: Operation) -> bool:
    """Nothing passes it."""
    return bool(operation.elements) and operation.saturated == operation.elements


def clamp_call(source: Source, clamp: Operation) -> ast.Call | None:
    """The call in the user's own line; None where there are several, or a library makes it."""
    line = clamp.place.line if clamp.place else None
    calls = [node for node in source.every(ast.Call) if called(node) in CLAMPS]
    here = [node for node in calls if line in (node.lineno, node.func.end_lineno)]
    return here[0] if clamp.own and len(here) == 1 else None


def clamp_layer(source: Source, clamp: Operation) -> ast.Call | None:
    """The one line that makes a layer of this kind, where such a layer clamps."""
    names = [f"torch.nn.{name}" for name in LAYERS.get(clamp.name, ())]
    found = [] if clamp.own else list(source.calls_of(*names))
    return found[0] if len(found) == 1 else None


def held_back(source: Source, call: ast.Call) -> ast.expr | None:
    """What goes through the clamp: the first argument of a function, the owner of a method."""
    if called(call) not in CLAMPS:
        return None
    if source.imported(call.func).startswith("torch"):
        return source.argument(call, "input", 0)
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def headline(clamp: Operation, source: Source | None, call: ast.Call | None) -> str:
    what = code(source.segment(call)) if source and call else f"`{clamp.name}`"
    given = held_back(source, call) if source and call else None
    of = f" of {code(source.segment(given))}" if source and given else ""
    many = "the one element" if clamp.elements == 1 else f"all {clamp.elements:,} elements"
    return f"{what} holds back {many}{of}: no gradient passes it, and nothing learns."


def facts(
    clamp: Operation, steps: Steps, story: LossStory, source: Source | None
) -> Iterator[Fact]:
    yield Fact("its bounds", spoken(f"{bound:g}" for bound in clamp.numbers))
    if not clamp.own and clamp.inside is not None:
        yield Fact("inside", f"{clamp.name} at {clamp.inside}")
    if clamp.least is not None and clamp.greatest is not None:
        yield Fact("what goes in", f"{clamp.least:.3g} … {clamp.greatest:.3g}, at the first step")
    count = counted(len(taking_part(steps)), "parameter")
    looked = counted(max(each.looked for each in taking_part(steps)), "step")
    yield Fact("gradients", f"exactly zero in {count}, at each of {looked} looked at")
    least, greatest = f"{steps.least_loss or 0:.5g}", f"{steps.greatest_loss or 0:.5g}"
    ranges = f"{least} … {greatest}, by what each batch holds and by nothing learned"
    same = f"{least}, each of {counted(steps.backwards, 'time')}"
    yield Fact("loss", same if least == greatest else ranges)
    guess = uniform_guess(story, steps.losses[0][1]) if steps.losses else None
    if guess is not None:
        yield Fact(f"{guess.loss:.5g}", guess.words)
    others = again(source, clamp) if source is not None else []
    if others:
        yield Fact("the same again", f"at line {spoken(map(str, sorted(others)))}")


def again(source: Source, clamp: Operation) -> list[int]:
    """Lines of the same clamp: taking one away leaves them."""
    line = clamp.place.line if clamp.place else 0
    calls = [node for node in source.every(ast.Call) if called(node) in CLAMPS]
    here = {source.segment(node) for node in calls if node.lineno == line}
    return [node.lineno for node in calls if node.lineno != line and source.segment(node) in here]


def ruled_out(steps: Steps) -> Iterator[Fact]:
    rates = sorted({optimizer.highest_rate for optimizer in steps.optimizers})
    used = f" ({spoken(f'{rate:g}' for rate in rates)} was used)" if rates else ""
    yield Fact("learning rate", f"times zero it is zero{used}")
    yield Fact("lost updates", "none was meant: the gradient itself is zero")
    if steps.skipped == 0:
        yield Fact("skipped steps", f"none of {counted(steps.steps, 'step')} was left out")
    if not steps.outside:
        held = counted(len(steps.parameters), "parameter")
        yield Fact("not in the optimizer", f"nothing: it holds {held}, all that take part")


def fix(source: Source | None, call: ast.Call | None, story: LossStory) -> Fix:
    edit = without_clamp(source, call) if source and call else None
    if edit is None:
        words = "Take the bounds away, or set them beyond what goes in."
        return Fix(words, why_not_tried="where the bounds are set could not be told for certain")
    safe = [name for name in SAFE if name in {each.name for each in story.operations}]
    takes = f"; `{safe[0]}` takes logits of any size" if safe else ""
    must = GradientsFlow(changes_the_past=True, steps=PROOF_STEPS)
    return Fix(f"Take the clamp away{takes}.", edit, must)


def without_clamp(source: Source, call: ast.Call) -> Edit | None:
    """The call becomes what it was given; a statement that did nothing else goes."""
    given, statement = held_back(source, call), source.statement_of(call)
    if given is None:
        return None
    text, names = source.segment(given), [source.segment(given)]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        names = [source.segment(target) for target in targets(statement)]
    alone = getattr(statement, "value", None) is call and names == [text]
    if alone and not isinstance(statement, ast.Return) and not shares_lines(source, statement):
        return removed(source, statement)
    stands_alone = isinstance(
        source.parents[call], ast.Assign | ast.Return | ast.Call | ast.keyword
    )
    tight = stands_alone or binds_tightly(source, given)
    return replaced(source, call, text if tight else f"({text})")
