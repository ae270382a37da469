"""The losses of several batches are accumulated and not divided by their number.

## What happens
`backward` adds gradients up. A loss that is the mean of its batch gives, over n batches, n times
the gradient of one batch of that size. With SGD each step is n times as large.

## Why it matters
A learning rate that works for an equally large real batch diverges here, or the loss is high and
erratic. Whoever changes n changes the learning rate with it.

## What to do
Divide each loss by the number of batches that make a step: `(loss / n).backward()`. In a
`compute_loss` of your own inside a Trainer, divide the sum of the token losses by
`num_items_in_batch`, or let the Trainer divide: `trainer.model_accepts_loss_kwargs = False`.

## How it is recognised
Several backward passes from one line make a step, a remainder (`% n`) decides when, each goes back
from the very mean that a loss function gave, and nothing in the file is divided by n. Optimizers
whose step does not depend on the size of gradients, such as Adam, are not reported; inside a
Trainer, whose contract it is, every optimizer is.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.gradient_violations import (
    AccumulationNotAveraged,
    TrainerLossNotAveraged,
)
from surefit.laws.training.made_names import name_at
from surefit.laws.training.step_calls import LoopCall, call_at
from surefit.remedies.statements import Insert
from surefit.remedies.wrap import Wrap

RULE = Rule("SF664", "accumulation-not-averaged", Severity.ERROR, __doc__)


@RULE.on(AccumulationNotAveraged)
def gradients_are_summed(broken: AccumulationNotAveraged, case: Case) -> Finding:
    group, count = broken.group, broken.accumulation.count
    backward = call_at(case, broken.use.place, "backward")
    by = f"`{count}`" if not count.isdigit() else count
    return case.finding(
        broken.use.place,
        f"The losses of {group} accumulated batches are not divided by {by}: gradients, and steps"
        f" of `{broken.optimizer.kind}`, are {group} times too large.",
        facts=broken.facts,
        why="Each loss is the mean of its batch. Their gradients are summed, not averaged, over"
        f" the {group} batches of a step.",
        remedies=(remedy(broken, case, backward, count),),
    )


def remedy(
    broken: AccumulationNotAveraged, case: Case, backward: LoopCall | None, count: str
) -> Remedy | Fix:
    words = f"Divide each loss by `{count}` before its backward pass."
    loss = loss_of(backward) if backward else None
    if backward is None or loss is None:
        return Fix(words)
    tight = isinstance(loss, ast.Name | ast.Attribute | ast.Call)
    inside = backward.call.args and backward.call.args[0] is loss
    divided = f" / {count}" if count.replace(".", "").isidentifier() or count.isdigit() else ""
    before, after = ("", divided) if inside else ("(", f"{divided})")
    if not divided or not tight:
        return Fix(words)
    return Wrap(
        at=case.expression(backward.source, loss),
        before=before,
        after=after,
        alike=False,
        words=words,
        must=law_holds(broken),
    )


def loss_of(backward: LoopCall) -> ast.expr | None:
    """`loss` of `loss.backward()`, of `scaler.scale(loss).backward()`."""
    func = backward.call.func
    if not isinstance(func, ast.Attribute):
        return None
    match func.value:
        case ast.Call(func=ast.Attribute(attr="scale"), args=[loss]):
            return loss
    return func.value


@RULE.on(TrainerLossNotAveraged)
def num_items_in_batch_is_ignored(broken: TrainerLossNotAveraged, case: Case) -> Finding:
    group = broken.group
    created = Expression(broken.created_at) if broken.created_at else None
    name = name_at(case.source(broken.created_at), broken.created_at) or "trainer"
    words = "Let the Trainer divide the loss, or divide the sum of the token losses by"
    words = f"{words} `num_items_in_batch` in `compute_loss`."
    insert = Insert(
        at=created,
        where="after",
        text=f"{name}.model_accepts_loss_kwargs = False",
        words=words,
        must=law_holds(broken),
    )
    return case.finding(
        broken.use.place,
        f"`compute_loss` ignores `num_items_in_batch`: with `gradient_accumulation_steps={group}`"
        f" the losses are summed and not divided, so that loss and gradients are {group} times too"
        " large.",
        facts=broken.facts,
        why="A Trainer whose model takes `num_items_in_batch` leaves it to the loss to divide by"
        " it, and no longer divides by the number of batches itself.",
        remedies=(insert if created is not None else Fix(words),),
    )
