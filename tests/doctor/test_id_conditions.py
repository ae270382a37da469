"""Conditions on ids: what tables are asked for, what is decoded, what is generated."""

from surefit.doctor.conditions.decoded import DECODE, NothingNegativeDecoded
from surefit.doctor.conditions.generated import GeneratedMore
from surefit.doctor.conditions.tables import LOOKUP, IdsFit
from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Passed, Process, Value
from surefit.doctor.recording import Recording

BEFORE = Recording([Crash("1-1", 1.0, Process(1), "IndexError", "IndexError: ...", steps=2)])


def lookup(least: int, greatest: int, rows: int, step: int = 2) -> Passed:
    ids = Value("input", "Tensor", shape=(4,), least=least, greatest=greatest)
    return Passed(Process(2), LOOKUP, step, (ids, Value("weight", "Parameter", shape=(rows, 8))))


def fits(must: IdsFit, *came: Passed) -> bool:
    return must.judge(BEFORE, Recording([*came])).held


def test_every_id_must_have_a_row_from_the_fault_on() -> None:
    must = IdsFit(width=8, rows=30, becomes=31, arrive=30)
    assert fits(must, lookup(0, 30, 31))
    assert not fits(must, lookup(0, 30, 31), lookup(0, 31, 31))
    assert not fits(must, lookup(-1, 30, 31))
    assert fits(must, lookup(0, 99, 31, step=1), lookup(0, 30, 31))


def test_ids_that_lacked_a_row_must_arrive_as_they_are() -> None:
    must = IdsFit(width=8, rows=30, becomes=31, arrive=30)
    assert not fits(must, lookup(0, 29, 31))
    assert fits(IdsFit(width=8, rows=30, becomes=31), lookup(0, 29, 31))


def test_another_table_is_not_taken_for_it() -> None:
    judged = IdsFit(width=8, rows=30, becomes=31, arrive=30).judge(
        BEFORE, Recording([lookup(0, 90, 100)])
    )
    assert not judged.held
    nothing = IdsFit(width=8, rows=30, becomes=31, arrive=30).judge(BEFORE, Recording([]))
    assert not nothing.held
    assert not nothing.decided


def test_no_negative_id_is_decoded_and_the_others_are() -> None:
    def decoded(least: int, greatest: int) -> bool:
        ids = Value("token_ids", "ndarray", least=least, greatest=greatest)
        after = Recording([Passed(Process(2), DECODE, 2, (ids,))])
        return NothingNegativeDecoded(61).judge(BEFORE, after).held

    assert decoded(0, 61)
    assert not decoded(-100, 61)
    assert not decoded(0, 7)


def test_more_is_generated_than_was_given() -> None:
    must = GeneratedMore(Place("eval.py", 3), "out", 18)

    def generated(length: int) -> bool:
        out = Value("out", "Tensor", shape=(4, length))
        return must.judge(BEFORE, Recording([Passed(Process(2), must.watchpoint, 0, (out,))])).held

    assert generated(34)
    assert not generated(18)
