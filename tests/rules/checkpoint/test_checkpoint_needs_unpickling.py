"""Files that hold more than tensors, on hand-made recordings."""

from dataclasses import replace

from looking import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Process, Script, Value
from surefit.rules.checkpoint.checkpoint_needs_unpickling import RULE

TEXT = 'state = torch.load("net.pt")\n'
OWN = Frame(Place("train.py", 1), "<module>", True, TEXT.strip(), expression='torch.load("net.pt")')
WEIGHTS_ONLY = Value("weights_only", "bool", scalar=True)
LOAD = Frame(Place("torch/serialization.py", 9), "load", own=False, values=(WEIGHTS_ONLY,))
CRASH = Crash("1-1", 1.0, Process(1), "_pickle.UnpicklingError", "x", (OWN, LOAD))


def told(crash: Crash) -> list[Finding]:
    return look(RULE, [Script("train.py", TEXT, True), crash])


def test_the_call_is_named_and_nothing_is_unpickled() -> None:
    (finding,) = told(CRASH)
    assert finding.place == Place("train.py", 1)
    assert all(fix.edit is None and fix.why_not_tried for fix in finding.fixes)


def test_a_damaged_pickle_is_another_fault() -> None:
    asked = replace(WEIGHTS_ONLY, scalar=False)
    assert told(replace(CRASH, frames=(OWN, replace(LOAD, values=(asked,))))) == []
    assert told(replace(CRASH, kind="EOFError")) == []
    assert told(replace(CRASH, frames=(OWN,))) == []
