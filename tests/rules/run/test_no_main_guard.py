"""Workers that run the script again, on hand-made recordings, and those that fail otherwise."""

from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Json, Process, Question, Script
from surefit.doctor.recording import Recording
from surefit.laws.crashes import violations_in
from surefit.rules.run.no_main_guard import RULE
from surefit.source.edits import patched

PLAIN = """\
from torch.utils.data import DataLoader
loader = DataLoader(rows, batch_size=4, num_workers=2)
for epoch in range(2):
    for x, y in loader:
        train(x, y)
print("done")
"""
GUARDED = """\
from torch.utils.data import DataLoader
if __name__ == "__main__":
    for epoch in range(2):
        for x, y in loader:
            train(x, y)
"""
SPAWNED: dict[str, Json] = {"kinds": ["SpawnProcess"], "codes": [1, None]}


def look(recording: Recording) -> list[Finding]:
    broken: list[str] = []
    findings = list(RULE.look(recording, violations_in(recording, broken)))
    assert broken == []
    return findings


def found(text: str, said: Json = SPAWNED, function: str = "<module>") -> list[Finding]:
    frames = (
        Frame(Place("train.py", 4), function, own=True),
        Frame(Place("torch/utils/data/dataloader.py", 9), "__next__", own=False),
    )
    crash = Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: no", frames)
    answer = Answer(Question("workers-begun", "1-1"), said)
    return look(Recording([Script("train.py", text, main=True), crash, answer]))


def test_what_trains_goes_under_the_test() -> None:
    (finding,) = found(PLAIN)
    assert finding.place == Place("train.py", 3)
    edit = finding.fixes[0].edit
    assert edit is not None
    head, _, tail = patched(edit, PLAIN).partition('if __name__ == "__main__":\n')
    assert head == "".join(PLAIN.splitlines(keepends=True)[:2])
    assert tail == "".join(f"    {line}\n" for line in PLAIN.splitlines()[2:])


def test_a_text_of_several_lines_or_a_class_behind_is_not_moved() -> None:
    for more in ('print("""a\nb""")\n', "class Late:\n    pass\n"):
        (finding,) = found(PLAIN + more)
        assert finding.fixes[0].edit is None
        assert finding.fixes[0].why_not_tried


def test_workers_that_failed_otherwise_are_left_to_others() -> None:
    assert found(GUARDED) == []
    assert found(PLAIN, {"kinds": ["Process"], "codes": [1]}) == []
    assert found(PLAIN, {"kinds": ["SpawnProcess"], "codes": [-9]}) == []
    assert found(PLAIN, function="main") == []
    assert found(PLAIN, None) == []


STARTS = """\
import torch.multiprocessing as mp
from job import work
mp.spawn(work, nprocs=2)
"""
REFUSED = Frame(Place("multiprocessing/spawn.py", 140), "_check_not_importing_main", own=False)


def refused(text: str, *more: Crash, function: str = "<module>") -> list[Finding]:
    frames = Frame(Place("train.py", 3), function, own=True), REFUSED
    crashes = [
        Crash(f"{pid}-1", pid, Process(pid, "child"), "RuntimeError", "RuntimeError: no", frames)
        for pid in (2, 3)
    ]
    return look(Recording([Script("train.py", text, main=True), *more, *crashes]))


def test_processes_that_came_to_the_line_that_starts_them() -> None:
    (finding,) = refused(STARTS)
    assert finding.place == Place("train.py", 3)
    edit = finding.fixes[0].edit
    assert edit is not None
    assert patched(edit, STARTS).endswith(
        'if __name__ == "__main__":\n    mp.spawn(work, nprocs=2)\n'
    )


def test_of_the_workers_of_a_loader_the_loader_tells() -> None:
    frames = (
        Frame(Place("train.py", 3), "<module>", own=True),
        Frame(Place("torch/utils/data/dataloader.py", 9), "__next__", own=False),
    )
    main = Crash("1-1", 4.0, Process(1), "RuntimeError", "RuntimeError: gone", frames)
    assert refused(STARTS, main) == []
    assert refused(STARTS, function="main") == []
