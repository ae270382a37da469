"""The generator of a GAN is trained with the label for fakes, as its discriminator is.

## What happens
The discriminator learns 1 for real rows and 0 for fakes. The generator's loss asks the
discriminator for 0 on its samples, too, where it should ask for 1.

## Why it matters
Nothing is raised, and both losses go to zero together: the generator learns to be recognised as
fake. Its samples move away from the real ones.

## What to do
Use the label of real rows in the generator's loss: `criterion(discriminator(fake), ones)`.

## How it is recognised
A model is given what another one computed, once detached and once not, and at both losses every
target is the same number, while on other inputs it is another number. A loss that is turned round,
`-criterion(..., zeros)`, is the original minimax game and is not meant.
"""

import ast

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.adversaries import SameSide
from surefit.laws.losses.loss_calls import WrittenLoss, loss_call_at
from surefit.laws.operations.operation_calls import calls_near
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF444", "generator-wants-to-be-recognised", Severity.ERROR, __doc__)


@RULE.on(SameSide)
def the_generator_helps_its_discriminator(broken: SameSide, case: Case) -> Finding:
    fake, real = broken.generator.target, broken.reals.target
    loss = loss_call_at(case, broken.generator.place, broken.generator.name)
    target = loss.target if loss is not None else None
    remedies = [
        ReplaceWith(
            at=case.expression(loss.source, target),
            text=text,
            words=f"Use the target of real rows, {real:g}, in the generator's loss: `{text}`.",
            must=law_holds(broken),
        )
        for text in (texts(broken, loss, target) if loss and target else ())
        if loss and target
    ]
    return case.finding(
        broken.use.place,
        f"The generator's loss uses the label for fakes: its target is {fake:g}, as in the"
        f" discriminator's loss on the same samples, and should be {real:g}, as for real rows.",
        facts=broken.facts,
        why="Both models want the samples to be recognised as fake, so nothing makes them more"
        " like real ones.",
        remedies=remedies,
    )


def texts(broken: SameSide, loss: WrittenLoss, target: ast.expr) -> list[str]:
    """The name that is the target for real rows, if the generator's step knows it, too; else a
    tensor like the present target."""
    written = loss.source.segment(target)
    full = f"torch.full_like({written}, {broken.reals.target!r})"
    alike = f"torch.ones_like({written})" if broken.reals.target == 1 else full
    return real_names(broken, loss, written) or [alike]


def real_names(broken: SameSide, loss: WrittenLoss, written: str) -> list[str]:
    place: Place | None = broken.reals.place
    source = loss.source
    if place is None or place.file != source.file or place.line is None:
        return []
    scope = source.scope_of(loss.call)
    known = source.bindings.get(scope, {}).keys() | source.bindings[source.tree].keys()
    names = [
        given.id
        for call in calls_near(source, place.line)
        if isinstance(given := source.argument(call, "target", 1), ast.Name)
    ]
    return [name for name in dict.fromkeys(names) if name in known and name != written][:1]
