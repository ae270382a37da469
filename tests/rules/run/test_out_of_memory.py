"""Memory that ran out, on hand-made recordings: who held it, and what would fit."""

from dataclasses import replace
from textwrap import dedent

from surefit.doctor.conditions.memory import PassesInLess
from surefit.doctor.conditions.read_in_place import ReadInPlace
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Death,
    Ended,
    Frame,
    Held,
    Memory,
    Observation,
    Passed,
    Process,
    Question,
    Script,
    Value,
    Watchpoint,
)
from surefit.doctor.recording import Recording
from surefit.laws.contracts.memory import KEPT
from surefit.laws.crashes import violations_in
from surefit.rules.run.out_of_memory import RULE
from surefit.source.edits import patched

TEXT = dedent(
    """\
    def evaluate(model, rows):
        losses = []
        for row in rows:
            loss = model(row)
            losses.append(loss)
        return sum(losses)
    """
)
MEMORY = Memory(
    "cuda",
    asked=300_000_000,
    total=8_000_000_000,
    free=100_000_000,
    resident=None,
    held=(
        Held("results kept for backward", 5_000_000_000, 40),
        Held("parameters and buffers", 2_000_000_000, 10),
    ),
    batch=64,
)
CRASH = Crash(
    "1-1",
    1.0,
    Process(1),
    "torch.OutOfMemoryError",
    "torch.OutOfMemoryError: CUDA out of memory",
    (Frame(Place("train.py", 4), "evaluate", own=True, line="loss = model(row)"),),
    memory=MEMORY,
)


def look(recording: Recording) -> list[Finding]:
    broken: list[str] = []
    findings = list(RULE.look(recording, violations_in(recording, broken)))
    assert broken == []
    return findings


def found(*seen: Observation) -> list[Finding]:
    return look(Recording([Script("train.py", TEXT, main=True), *seen]))


def test_the_largest_holder_is_named_and_rows_are_counted() -> None:
    (finding,) = found(CRASH)
    assert finding.place == Place("train.py", 4)
    assert finding.headline == (
        "300.0 MB more did not fit in memory: results kept for backward held most of it."
    )
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["memory of cuda"] == "8.0 GB, 100.0 MB of it free"
    assert facts["results kept for backward"] == "5.0 GB in 40 tensors"
    # 64 rows have taken 5.0 of the 5.1 GB there are for them, and want 5.3.
    assert facts["what would fit"] == "at most 61 of these 64 rows come past this line"
    assert [fix.edit for fix in finding.fixes] == [None]


def test_what_is_not_known_is_said() -> None:
    (finding,) = found(replace(CRASH, memory=replace(MEMORY, free=None)))
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["limit of this process"] == "8.0 GB"
    assert facts["what would fit"].startswith("not known")


def test_a_list_that_keeps_graphs_is_named_where_it_is_filled() -> None:
    kept = replace(MEMORY, held=(Held(KEPT, 4_000_000_000, 50, "losses"), *MEMORY.held))
    (finding,) = found(replace(CRASH, memory=kept))
    assert finding.place == Place("train.py", 5, 5)
    assert finding.headline.startswith("`losses` keeps tensors with their graphs, 4.0 GB in all")
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "losses.append(loss.detach())" in patched(fix.edit, TEXT)
    assert fix.must == PassesInLess()


def ended(peak: int | None) -> Recording:
    return Recording([Ended(("python",), "train.py", 0, 1.0, peak)])


def test_less_memory_is_the_condition() -> None:
    must = PassesInLess()
    less = must.judge(ended(600_000_000), ended(400_000_000))
    assert (less.held, less.said) == (True, "at most 400.0 MB in use, 600.0 MB in the first run")
    assert not must.judge(ended(600_000_000), ended(700_000_000)).held
    again = Recording([CRASH, *ended(1).observations])
    assert must.judge(ended(600_000_000), again).said == "memory ran out again"
    assert not must.judge(ended(None), ended(None)).held


def test_a_kill_by_the_kernel() -> None:
    death = Death(Process(1), "signal", "SIGKILL", 137, True, 31_000_000_000, 32_000_000_000)
    (finding,) = found(death)
    assert finding.headline == (
        "The system ended the process because memory ran out: 31.0 GB in use of 32.0 GB."
    )
    assert finding.place == Place("train.py")


def test_silence_on_a_retry_and_on_other_exceptions() -> None:
    assert found(replace(CRASH, swallowed=True)) == []
    assert found(replace(CRASH, memory=None)) == []
    assert found(Death(Process(1), "signal", "SIGKILL", 137)) == []


READS = "import numpy as np\nrows = np.load(path)\n"


def reading(library: str, function: str, **more: object) -> list[Finding]:
    frames = (
        Frame(Place("read.py", 2), "<module>", own=True, line="rows = np.load(path)"),
        Frame(Place(f"{library}/io.py", 9), function, own=False),
    )
    memory = Memory("cpu", 4_000_000_000, 2_000_000_000, None, 200_000_000)
    said = {"file": "data/part-0.npy", "bytes": 4_000_000_128, **more}
    answer = Answer(Question("file-read", "1-1", {"function": function}), said)
    crash = replace(CRASH, frames=frames, memory=memory)
    return look(Recording([Script("read.py", READS, main=True), crash, answer]))


def test_an_array_that_is_read_whole_can_be_read_in_place() -> None:
    (finding,) = reading("numpy", "load", shape=[1000, 20, 271], dtype="float32")
    assert finding.place == Place("read.py", 2)
    assert finding.headline == (
        "`np.load` reads the whole of data/part-0.npy, 4.0 GB, and 4.0 GB did not fit in memory."
    )
    fix = finding.fixes[0]
    assert fix.must == ReadInPlace(Place("read.py", 2), "rows", (1000, 20, 271), "float32")
    assert fix.edit is not None
    assert 'np.load(path, mmap_mode="r")' in patched(fix.edit, READS)


def test_other_files_are_told_without_a_change() -> None:
    for library, function in (("pandas", "read_csv"), ("numpy", "load")):
        (finding,) = reading(library, function)
        assert finding.fixes[0].edit is None
        assert finding.fixes[0].choice


def test_an_array_in_place_has_what_the_header_says() -> None:
    must = ReadInPlace(Place("read.py", 2), "rows", (10, 3), "float32")
    watched = Watchpoint(Place("read.py", 2), ("rows",), after=True)
    mapped = Value("rows", "memmap", shape=(10, 3), dtype="float32", file="part.npy")

    def held(*seen: Observation) -> bool:
        return must.judge(Recording([]), Recording(list(seen))).held

    def passed(value: Value) -> Passed:
        return Passed(Process(1), watched, 0, (value,))

    assert held(passed(mapped))
    assert not held(passed(replace(mapped, file=None)))
    assert not held(passed(replace(mapped, shape=(9, 3))))
    assert not held(passed(mapped), CRASH)
    assert not held()


def test_a_file_of_torch_is_mapped() -> None:
    (finding,) = reading("torch", "load")
    assert finding.fixes[0].edit is not None
    assert "np.load(path, mmap=True)" in patched(finding.fixes[0].edit, READS)
    assert finding.fixes[0].must == PassesInLess()


def test_half_the_rows_of_a_loader_are_tried_by_choice() -> None:
    text = "loader = DataLoader(rows, batch_size=64)\nfor row in loader:\n    model(row)\n"
    frame = Frame(Place("train.py", 3), "<module>", own=True, line="model(row)")
    recording = Recording([Script("train.py", text, main=True), replace(CRASH, frames=(frame,))])
    (finding,) = look(recording)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "batch_size=32" in patched(fix.edit, text)
    assert fix.choice
