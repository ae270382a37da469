"""A recurrent or attention layer runs along the rows of the batch.

## What happens
`nn.LSTM`, `nn.GRU`, `nn.RNN`, `nn.MultiheadAttention` and the Transformer layers take (steps, rows,
features) unless they are created with `batch_first=True`. Given (rows, steps, features) they run
along the rows: the state goes from one example to the next, and never from step to step. No shape
is wrong, so nothing complains.

## Why it matters
Each prediction depends on the other rows of its batch, and on none of the earlier steps of its own.
Accuracy stays near chance, and changes with the batch size.

## What to do
`batch_first=True` where the layer is created. If it is meant to take steps first, transpose what it
is given, and what it returns.

## How it is recognised
With the live model in evaluation mode all other rows of a batch were replaced. The output of the
remaining row changed, and the layer is the first operation whose input keeps rows apart and whose
output does not.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.measures.experiments import OperationSeen
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.independent_rows import RowsMix
from surefit.laws.invariants.inputs_count import InputsDoNotCount
from surefit.laws.law import BrokenLaw
from surefit.laws.operations.mixing_operations import ATTENTION, RECURRENT, ROWS_FIRST
from surefit.laws.operations.operation_calls import constructor_of
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument, call_at
from surefit.source.reading import called

RULE = Rule("SF241", "layer-along-the-batch", Severity.ERROR, __doc__)


@RULE.on(RowsMix)
def layer_takes_rows_for_steps(broken: RowsMix, case: Case) -> Finding | None:
    operation = broken.operation
    if operation.name not in RECURRENT | ATTENTION:
        return None
    created = created_by(operation, case)
    if created is None:
        return None
    _, node = call_at(case, created)
    kind = called(node) if node is not None else operation.kind
    runs = "runs" if operation.name in RECURRENT else "attends"
    return case.finding(
        created.place,
        f"`{kind}` without `batch_first=True` is given (batch, time, feature) and {runs} along the"
        " batch: rows influence each other, and time steps do not.",
        facts=(
            *broken.facts,
            *fact_at("runs at", broken.use),
        ),
        why="It takes (time, batch, feature) by default, so that each row of the batch is a time"
        " step to it. Shapes agree either way, and nothing raises.",
        remedies=ways(broken, created),
    )


@RULE.on(InputsDoNotCount)
def the_position_that_is_read_never_sees_its_row(
    broken: InputsDoNotCount, case: Case
) -> Finding | None:
    every = [known for known in layers(case) if takes_steps_first(case, known)]
    if len(every) != 1:
        return None
    _, node = call_at(case, every[0])
    kind = called(node) if node is not None else "the layer"
    return case.finding(
        every[0].place,
        f"`{kind}` without `batch_first=True` is given (batch, time, feature) and attends along the"
        " batch: the position that is read never sees its own row.",
        facts=(*broken.facts, *fact_at("read at", broken.use)),
        why="It takes (time, batch, feature) by default, so that each row of the batch is a time"
        " step to it. Shapes agree either way, and nothing raises.",
        remedies=ways(broken, every[0]),
    )


def created_by(operation: OperationSeen, case: Case) -> Expression | None:
    """Where the layer, or the one that it is copied from, is created without `batch_first`."""
    created = constructor_of(operation, case)
    if created is not None and takes_steps_first(case, created):
        return created
    every = [known for known in layers(case) if takes_steps_first(case, known)]
    return every[0] if len(every) == 1 and operation.kind in ROWS_FIRST else None


def layers(case: Case) -> Iterator[Expression]:
    for source in case.recording.sources():
        for call in source.calls_named(*ROWS_FIRST):
            yield case.expression(source, call)


def takes_steps_first(case: Case, created: Expression) -> bool:
    source, node = call_at(case, created)
    if source is None or node is None or called(node) not in ROWS_FIRST:
        return False
    if called(node) in ("TransformerEncoder", "TransformerDecoder"):
        return False
    option = source.argument(node, "batch_first")
    hidden = any(keyword.arg is None for keyword in node.keywords)
    return not hidden and (option is None or ast.unparse(option) == "False")


def ways(broken: BrokenLaw, created: Expression) -> Iterator[Remedy]:
    yield SetArgument(
        at=created,
        name="batch_first",
        value="True",
        words=f"Rows come first: {code('batch_first=True')} where the layer is created.",
        must=law_holds(broken),
    )
