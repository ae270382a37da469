"""The target of a loss belongs to what the model was given."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.loss_inputs import LossSite
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.losses.loss_calls import WrittenLoss, loss_call_at
from surefit.laws.losses.loss_law import measures
from surefit.laws.losses.td_targets import names_behind
from surefit.source.definitions import definition
from surefit.source.reading import Source, called

LAW = Law("own_targets", "the target of a loss belongs to what the model was given")
OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
PROOF_STEPS = 8

DRAWS = ("randn_like", "randn", "rand_like", "rand", "normal")


@dataclass(frozen=True, slots=True)
class DrawnTarget:
    """A target that nothing else reads, and the noise that was meant."""

    target: ast.expr
    """As the loss is given it."""
    draw: ast.Call
    noise: str
    noise_draw: ast.Call


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshNoiseTarget(BrokenLaw):
    """A random target that nothing the model was given depends on."""

    target: Expression
    noise: str
    """The name of the noise that the model's input holds."""


def violations_of(case: Case) -> Iterator[FreshNoiseTarget]:
    for site in regressions(case.recording):
        loss = loss_call_at(case, site.place, site.name)
        found = drawn_target(loss) if loss is not None else None
        if loss is None or found is None or site.place is None:
            continue
        target = case.expression(loss.source, found.target)
        draw = case.expression(loss.source, found.draw)
        added = case.expression(loss.source, found.noise_draw)
        yield FreshNoiseTarget(
            use=draw,
            said=f"The target is a new random draw, `{draw.text}`, and nothing that the model was"
            " given depends on it",
            facts=(
                Fact("the target", f"`{draw.text}`, line {draw.place.line}"),
                Fact("the noise added", f"`{found.noise} = {added.text}`, line {added.place.line}"),
            ),
            steps=PROOF_STEPS,
            fault=f"{LAW.name} {site.place}",
            target=target,
            noise=found.noise,
        )


def regressions(recording: Recording) -> Iterator[LossSite]:
    for measure in measures(recording):
        for site in measure.sites:
            if site.name in OF_NUMBERS and site.looked:
                yield site


def watched(recording: Recording) -> MeasuredOn:
    looked = sum(site.looked for site in regressions(recording))
    if not looked:
        return MeasuredOn(why_not="no loss of numbers was seen")
    return MeasuredOn(on=counted(looked, "call") + " of losses of numbers")


def drawn_target(loss: WrittenLoss) -> DrawnTarget | None:
    """None unless one single noise went into what the model was given, mixed with something else
    and drawn by the same function."""
    source, target, predictions = loss.source, loss.target, loss.predictions
    draw = fresh_draw(source, target) if target is not None else None
    if target is None or draw is None or predictions is None:
        return None
    scope = source.scope_of(loss.call)
    noises = [
        (name, value)
        for name, value in mixed_noises(source, predictions)
        if is_alike(called(value), called(draw)) and source.scope_of(value) is scope
    ]
    if len(noises) != 1 or source.scope_of(draw) is not scope:
        return None
    name, noise_draw = noises[0]
    return DrawnTarget(target, draw, name, noise_draw)


def is_alike(first: str, other: str) -> bool:
    return first.removesuffix("_like") == other.removesuffix("_like")


def fresh_draw(source: Source, node: ast.expr) -> ast.Call | None:
    """The draw behind a target, where only the target reads it."""
    if isinstance(node, ast.Name):
        value = definition(source, node) if len(reads_beside(source, node, node.id)) == 1 else None
    else:
        value = node
    return value if isinstance(value, ast.Call) and is_draw(source, value) else None


def reads_beside(source: Source, node: ast.expr, name: str) -> list[ast.Name]:
    """Of a name, in the function that a node is in."""
    scope = source.scope_of(node)
    every = source.names_read.get(name, ())
    return [read for read in every if source.scope_of(read) is scope]


def is_draw(source: Source, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and source.imported(node.func) in {
        f"torch.{name}" for name in DRAWS
    }


def mixed_noises(source: Source, predictions: ast.expr) -> Iterator[tuple[str, ast.Call]]:
    """Names of random draws that enter the predictions in an expression with other names: not what
    a model is given as it is, as a latent vector."""
    behind = names_behind(source, predictions)
    for name in sorted(behind):
        reads = reads_beside(source, predictions, name)
        draws = {definition(source, read) for read in reads}
        value = draws.pop() if len(draws) == 1 else None
        if not isinstance(value, ast.Call) or not is_draw(source, value):
            continue
        if any(is_mixed(source, read) for read in reads):
            yield name, value


def is_mixed(source: Source, read: ast.Name) -> bool:
    """In a sum, or beside other arguments of a function that is no layer's call alone."""
    outer = source.parents.get(read)
    if isinstance(outer, ast.BinOp):
        return True
    return isinstance(outer, ast.Call) and len(outer.args) > 1 and read in outer.args
