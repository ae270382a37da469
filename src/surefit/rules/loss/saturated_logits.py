"""A clamp holds back every value on the way to the loss, so that no gradient passes.

## What happens
Beyond its bounds a clamp gives the bound itself, whatever went in: its slope there is zero. If
every element lies beyond, the gradient of every parameter behind it is exactly zero. The loss is
what the bounds alone make of it; for a classifier whose logits all come to one bound, the logarithm
of the number of classes.

## Why it matters
Nothing is reported. The loss is finite, gradients are there, the optimizer steps, weight decay even
moves the weights. No learning rate, temperature or loss weight helps: each is multiplied by zero.
Such clamps are put in against overflow in float16. The logits of published GPT-2 weights lie near
-60: bounds of ±10 hold back all of them.

## What to do
Take the clamp away. Logits of any size are safe in `cross_entropy`, which subtracts the greatest
one first; where numbers really overflow, find out which, and compute that part in float32.

## How it is recognised
Every gradient of every parameter that an optimizer holds was there and exactly zero, at every step
looked at. A second run, which records operations, shows a clamp (`clamp`, `clip`, `hardtanh`,
`relu6`, `hardsigmoid`, `minimum` or `maximum` with a number) beyond whose bounds lies every element
at the first step, and no other way from the loss to a parameter. A loss of exactly zero is not
reported: there a margin is kept, and nothing is left to learn.
"""

import ast
import math
from collections.abc import Iterator

from surefit.doctor.conditions.parameters import GradientsFlow
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Operation, RootSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, spoken
from surefit.evidence.loss_arithmetic import UniformGuess, uniform_guess
from surefit.evidence.made_names import names_of_made
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
def no_gradient_passes_a_clamp(steps: Steps, seen: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0) or not every_gradient_is_zero(steps):
        return
    story = story_of_loss(seen, 0)
    clamp = closed_clamp(story) if story else None
    if story is None or clamp is None or clamp.place is None or story.past_clamps:
        return
    source = seen.source(clamp.place)
    call = clamp_call(source, clamp) if source else None
    layer = clamp_layer(source, clamp) if source else None
    yield RULE.finding(
        Place(clamp.place.file, layer.lineno, layer.end_lineno) if layer else clamp.place,
        headline(clamp, source, call or layer),
        facts=tuple(facts(clamp, steps, story, source, seen)),
        ruled_out=tuple(ruled_out(steps)),
        why="Beyond its bounds a clamp is constant, and the slope of a constant is zero: every"
        " parameter behind it gets a gradient of exactly zero, at every step.",
        fixes=(fix(source, call, layer is not None, story),),
    )


def every_gradient_is_zero(steps: Steps) -> bool:
    """Zero, not absent: of a parameter that takes no part nothing can be said."""
    present = [one for one in steps.parameters if one.looked > one.absent]
    if steps.steps < FEWEST_STEPS or steps.losses_not_finite or not present:
        return False
    if steps.least_loss in (None, 0.0) or steps.greatest_loss == 0.0:
        return False
    return all(one.zero == one.looked - one.absent and not one.not_finite for one in present)


def closed_clamp(story: LossStory) -> Operation | None:
    """The first one on the way back from the loss that lets nothing through."""
    return next(
        (one for one in story.operations if one.elements and one.saturated == one.elements), None
    )


def clamp_call(source: Source, clamp: Operation) -> ast.Call | None:
    """The call in the user's own line; None where there are several, or a library makes it."""
    line = clamp.place.line if clamp.place else None
    found = [
        node
        for node in source.nodes
        if isinstance(node, ast.Call)
        and called(node) in CLAMPS
        and line in (node.lineno, node.func.end_lineno)
    ]
    return found[0] if clamp.own and len(found) == 1 else None


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
    clamp: Operation, steps: Steps, story: LossStory, source: Source | None, seen: Recording
) -> Iterator[Fact]:
    yield Fact("its bounds", spoken(f"{bound:g}" for bound in clamp.numbers))
    if not clamp.own and clamp.inside is not None:
        yield Fact("inside", f"{clamp.name} at {clamp.inside}")
    if clamp.least is not None and clamp.greatest is not None:
        yield Fact("what goes in", f"{clamp.least:.3g} … {clamp.greatest:.3g}, at the first step")
    present = [one for one in steps.parameters if one.looked > one.absent]
    looked = counted(max(one.looked for one in present), "step")
    yield Fact(
        "gradients",
        f"exactly zero in {counted(len(present), 'parameter')}, at each of {looked} looked at",
    )
    yield Fact("loss", loss_in_words(steps))
    guess = uniform_guess(story, steps.losses[0][1]) if steps.losses else None
    if guess is not None:
        yield Fact(f"{guess.loss:.5g}", guess_in_words(guess))
    yield from never_run(steps, story, seen)
    if source is not None and clamp.place is not None:
        yield from again(source, clamp.place.line or 0)


def loss_in_words(steps: Steps) -> str:
    least, greatest = steps.least_loss or 0.0, steps.greatest_loss or 0.0
    if f"{least:.5g}" == f"{greatest:.5g}":
        return f"{least:.5g}, each of {counted(steps.backwards, 'time')}"
    return f"{least:.5g} … {greatest:.5g}, by what each batch holds and by nothing learned"


def guess_in_words(guess: UniformGuess) -> str:
    """`= 0.9 × 10.828; 10.828 is ln 50257 (10.8249) in float16, the cost of a uniform guess`."""
    cost, exact = f"{guess.cost:.5g}", f"{math.log(guess.classes):.6g}"
    product = " × ".join([*(f"{weight:g}" for weight in guess.weights), cost])
    begin = f"= {product}; {cost} is " if guess.weights else "= "
    return f"{begin}ln {guess.classes} ({exact}) in {guess.dtype}, the cost of a uniform guess"


def never_run(steps: Steps, story: LossStory, seen: Recording) -> Iterator[Fact]:
    """Models that nobody called, where a term of the loss is a plain zero."""
    zero = next((one for one in story.operations if one.result == 0.0 and not one.takes), None)
    if zero is None or zero.place is None:
        return
    for root in steps.roots:
        if root.training == root.evaluating == root.nested == 0 and root.made_at is not None:
            name = name_of(root, steps, seen)
            yield Fact(
                name or f"`{root.kind}`",
                f"made at {root.made_at} and never run;"
                f" a term of the loss is the 0 of {zero.place}",
            )


def name_of(root: RootSeen, steps: Steps, seen: Recording) -> str:
    beside = [one.serial for one in steps.roots if one.made_at == root.made_at]
    name = names_of_made(seen.source(root.made_at), root.made_at, beside).get(root.serial)
    return f"`{name}`" if name else ""


def again(source: Source, line: int) -> Iterator[Fact]:
    """The same clamp in other lines: taking one away leaves them."""
    text = next((source.segment(one) for one in source.calls_in(line) if called(one) in CLAMPS), "")
    others = [
        node.lineno
        for node in source.nodes
        if isinstance(node, ast.Call) and node.lineno != line and source.segment(node) == text
    ]
    if text and others:
        yield Fact("the same again", f"at line {spoken(str(one) for one in sorted(others))}")


def ruled_out(steps: Steps) -> Iterator[Fact]:
    rates = sorted({one.highest_rate for one in steps.optimizers})
    used = f" ({spoken(f'{rate:g}' for rate in rates)} was used)" if rates else ""
    yield Fact("learning rate", f"times zero it is zero{used}")
    yield Fact("lost updates", "none was meant: the gradient itself is zero")
    if steps.skipped == 0:
        yield Fact("skipped steps", f"none of {counted(steps.steps, 'step')} was left out")
    if not steps.outside:
        held = counted(len(steps.parameters), "parameter")
        yield Fact("not in the optimizer", f"nothing: it holds {held}, all that take part")


def fix(
    source: Source | None, call: ast.Call | None, clamped_by_layer: bool, story: LossStory
) -> Fix:
    edit = without_clamp(source, call) if source and call else None
    if edit is None:
        return Fix(
            "Take the bounds away, or set them beyond what goes in.",
            why_not_tried="whether this layer is needed, only you know"
            if clamped_by_layer
            else "where the bounds are set could not be told for certain",
        )
    safe = next((name for name in SAFE if name in {one.name for one in story.operations}), None)
    text = f"Take the clamp away; `{safe}` takes logits of any size." if safe else ""
    must = GradientsFlow(changes_the_past=True, steps=PROOF_STEPS)
    return Fix(text or "Take the clamp away.", edit, must)


def without_clamp(source: Source, call: ast.Call) -> Edit | None:
    """The call becomes what it was given; a statement that did nothing else goes."""
    given = held_back(source, call)
    statement = source.statement_of(call)
    if given is None:
        return None
    if does_nothing_else(source, statement, call, given) and not shares_lines(source, statement):
        return removed(source, statement)
    text = source.segment(given)
    if not binds_tightly(source, given) and not stands_alone(source, call):
        text = f"({text})"
    return replaced(source, call, text)


def does_nothing_else(source: Source, statement: ast.stmt, call: ast.Call, given: ast.expr) -> bool:
    if isinstance(statement, ast.Expr):
        return statement.value is call
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is not call:
        return False
    return [source.segment(one) for one in targets(statement)] == [source.segment(given)]


def stands_alone(source: Source, call: ast.Call) -> bool:
    parent = source.parents[call]
    return isinstance(parent, ast.Assign | ast.Return | ast.Call | ast.keyword)
