"""What distributions, factorisations, integers and checks demand: numbers that are finite."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from surefit.doctor.causes import is_cause
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of
from surefit.laws.contracts.domains import DISTRIBUTIONS, domains_in
from surefit.laws.operations.operation_calls import computed_on
from surefit.source.reading import Source, called

ENGINE = "_engine_run_backward"
ANOMALY = ("set_detect_anomaly", "detect_anomaly")
DRAWING = ("multinomial", "bernoulli", "poisson", "normal")
FACTORISING = (
    *("cholesky", "eigh", "eig", "eigvals", "eigvalsh", "svd", "svdvals", "qr", "symeig"),
    *("inv", "inverse", "solve", "lstsq", "pinv", "pinverse", "matrix_rank"),
)
TO_INTEGERS = ("int", "round")
REFUSING = (*DRAWING, *FACTORISING, *TO_INTEGERS)
"""Operations that raise on NaN."""
ASKING = ("isnan", "isfinite", "isinf")
ABOUT_FINITENESS = ("finite", "isnan", "has_nan")
"""In the name of a library's function that raises, or in the condition it raises behind."""
MOST_STEPS = 3
"""Before the last loss that is known to be finite: so many are looked at, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedAsNotFinite(Violation):
    """A value with NaN or infinity was given to what takes finite numbers only."""

    taker: str
    """That refuses it: `Categorical`; empty for a check of the user's own."""
    name: str
    """Of the value, as the taker or the user calls it."""
    frame: int
    text: str
    """The frame of the crash, and what it calls the value; empty where it has no name."""
    known: bool
    """The value was read, and is not finite."""
    from_step: int
    """Optimizer steps before which all was finite."""


def violations_of(case: Case) -> Iterator[RefusedAsNotFinite]:
    if case.crash is None or case.own is None:
        return
    last = case.frames[-1]
    if case.crash.in_backward or last.function == ENGINE:
        yield from of_anomaly(case)
    elif last.own:
        yield from of_operation(case, last)
        yield from of_own_check(case, last)
    elif DISTRIBUTIONS in last.place.file:
        yield from of_distribution(case, last)
    elif taken := domains_in(last):
        yield from of_function(case, last, tuple(taken))
    else:
        yield from of_library_check(case, last)


def ends_the_run(recording: Recording) -> bool:
    """A value that is not finite was refused, so that this is told of the crash."""
    crashes = [crash for crash in recording.all(Crash) if is_cause(crash, recording)]
    return any(True for crash in crashes for _ in violations_of(Case(recording, crash)))


def refused(
    case: Case, taker: str, name: str, text: str = "", *, frame: int = -1, known: bool = False
) -> RefusedAsNotFinite:
    assert case.own is not None
    number = frame if frame >= 0 else case.number
    return RefusedAsNotFinite(
        use=use_of(case.own),
        taker=taker,
        name=name,
        frame=number,
        text=text,
        known=known,
        from_step=first_step(case),
    )


def first_step(case: Case) -> int:
    """Some steps before the last loss that is known to be finite, with none that is not before."""
    finite = 0
    for steps in final_steps(case.recording):
        for step, loss in steps.losses:
            if not isfinite(loss):
                break
            finite = max(finite, step)
    return max(0, finite - MOST_STEPS)


def is_bad(value: Value | None) -> bool:
    if value is None:
        return False
    number = value.scalar
    return bool(value.not_finite) or (isinstance(number, float) and not isfinite(number))


def of_distribution(case: Case, last: Frame) -> Iterator[RefusedAsNotFinite]:
    """A parameter of a distribution, or a value that it is asked about."""
    parameter, value, owner = (last.value(text) for text in ("param", "value", "self"))
    if not is_bad(value):
        return
    name = str(parameter.scalar) if parameter is not None and parameter.scalar else "value"
    kind = owner.kind if owner is not None else "the distribution"
    yield refused(case, kind, name, "value", frame=len(case.frames) - 1, known=True)


def of_function(case: Case, last: Frame, names: tuple[str, ...]) -> Iterator[RefusedAsNotFinite]:
    for name in names:
        if is_bad(last.value(name)):
            number = len(case.frames) - 1
            yield refused(case, last.function, name, name, frame=number, known=True)
            return


def of_library_check(case: Case, last: Frame) -> Iterator[RefusedAsNotFinite]:
    """A `raise` of a library in a function, or behind a condition, that is about finiteness."""
    conditions = " ".join(check.text for check in last.checks)
    said = f"{last.function} {conditions}".lower()
    if not any(word in said for word in ABOUT_FINITENESS):
        return
    bad = [value for value in last.values if is_bad(value)]
    function = next((frame.function for frame in case.frames[case.number + 1 :]), last.function)
    text = bad[0].text if bad else ""
    number = len(case.frames) - 1
    yield refused(case, function, text, text, frame=number, known=bool(bad))


def of_operation(case: Case, own: Frame) -> Iterator[RefusedAsNotFinite]:
    node, source = case.node(own), case.source(own)
    if not isinstance(node, ast.Call) or source is None or called(node) not in REFUSING:
        return
    by_function = called(node) in TO_INTEGERS and node.args
    operand = node.args[0] if by_function else computed_on(source, node)
    if operand is None:
        return
    text = ast.unparse(operand)
    value = own.value(text)
    if value is None or is_bad(value) or (value.shape is None and value.scalar is None):
        yield refused(case, called(node), text, text, known=is_bad(value))


def of_own_check(case: Case, own: Frame) -> Iterator[RefusedAsNotFinite]:
    """`if torch.isnan(loss): raise ...`, `assert torch.isfinite(x).all()`."""
    source = case.source(own)
    statement = source.statement_at(own.place.line) if source and own.place.line else None
    if source is None or not isinstance(statement, ast.Raise | ast.Assert):
        return
    for asked in asked_for_finite(source, statement):
        text = ast.unparse(asked)
        value = own.value(text)
        if value is None or is_bad(value) or (value.shape is None and value.scalar is None):
            yield refused(case, "", text, text, known=is_bad(value))
            return


def asked_for_finite(source: Source, statement: ast.stmt) -> Iterator[ast.expr]:
    """What the condition of a statement asks `isnan` or `isfinite` about."""
    tests = [statement.test] if isinstance(statement, ast.Assert) else []
    around = source.parents.get(statement)
    if isinstance(around, ast.If) and isinstance(statement, ast.Raise):
        tests = [around.test]
    for test in tests:
        for node in ast.walk(test):
            if isinstance(node, ast.Call) and called(node) in ASKING:
                owner = node.func.value if isinstance(node.func, ast.Attribute) else None
                operand = node.args[0] if node.args else owner
                if operand is not None:
                    yield operand


def of_anomaly(case: Case) -> Iterator[RefusedAsNotFinite]:
    """A backward pass under anomaly detection, which raises where a gradient becomes NaN."""
    source = case.source(case.own)
    calls = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call)) if source else ()
    if any(called(call) in ANOMALY for call in calls):
        yield refused(case, "anomaly detection", "a gradient")
