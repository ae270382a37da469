"""DEBUG

## What happens
x

## Why it matters
x

## What to do
x

## How it is recognised
x
"""
import sys
from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.prepared_alike import PreparedOtherwise
from surefit.doctor.measures.phase_inputs import PhaseInput

RULE = Rule("SF596", "evaluation-inputs-prepared-differently", Severity.ERROR, __doc__)


def lineage_of(case, known: PhaseInput):
    place = known.stack[0]
    if known.model:
        return case.lineage_of_argument(known.taker, known.name, place, known.step, known.grad)
    return case.lineage_of_target(known.taker, place, known.step, known.grad)


@RULE.on(PreparedOtherwise)
def dbg(broken: PreparedOtherwise, case: Case) -> Finding | None:
    lines = []
    asked = []
    from surefit.doctor.rule import Unanswered
    for known in (broken.trained, broken.evaluated):
        try:
            asked.append(lineage_of(case, known))
        except Unanswered:
            asked.append(None)
    if None in asked:
        raise Unanswered("lineage")
    with open("/tmp/parity/dump.txt", "a") as f:
        print("=====", broken.said, file=f)
        for known, lineage in zip((broken.trained, broken.evaluated), asked):
            print("--", "TRAIN" if known.trained else "EVAL", known.stack[0], "roots", lineage.root, lineage.ended, file=f)
            for p in lineage.nearest():
                print("   ", p.serial, p.own, p.place.line, p.kind, repr(p.text[:60]), p.value.shape, p.value.least, p.value.greatest, [(i.serial, str(i.way), i.name) for i in p.inputs][:6], file=f)
    return None
