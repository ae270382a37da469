"""A number that nobody measured is named; a `try` that means to catch is left alone."""

from dataclasses import replace
from textwrap import dedent

import pytest

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import (
    Assigned,
    Crash,
    Ended,
    Frame,
    Layer,
    Process,
    Script,
    Steps,
    Swallowed,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.rules.evaluation.swallowed_evaluation import RULE
from surefit.source.edits import patched

FILE = "train.py"
SAID = "IndexError: index out of range in self"
PROCESS = Process(7)


def recorded(text: str, **changes: object) -> Recording:
    """A run of a script in which every entry of its only `try` failed, 12 times."""
    text = dedent(text).lstrip("\n")
    lines = text.splitlines()
    tried = next(at for at, line in enumerate(lines, 1) if line.strip() == "try:")
    caught = next(at for at, line in enumerate(lines, 1) if line.strip().startswith("except"))
    end = next(
        (at - 1 for at, line in enumerate(lines, 1) if at > caught + 1 and indent(line) < 8),
        len(lines),
    )
    inside = [
        (at, line.strip())
        for at, line in enumerate(lines, 1)
        if caught < at <= end and line.strip()
    ]
    instead = tuple(
        Assigned(*assigned(line), Place(FILE, at, at))
        for at, line in inside
        if " = " in line or line.startswith("return ")
    )
    swallowed = Swallowed(
        PROCESS,
        Place(FILE, caught, end),
        Place(FILE, tried, caught - 1),
        Place(FILE, tried + 1),
        SAID,
        times=12,
        entries=12,
        ran=("module",),
        training=False,
        grad=False,
        instead=instead,
        crash="7-1",
    )
    crash = Crash(
        "7-1",
        1.0,
        PROCESS,
        "IndexError",
        SAID,
        (
            Frame(
                Place(FILE, tried + 1),
                "evaluate",
                own=True,
                expression="model(batch)",
                values=(
                    Value("batch", "Tensor", shape=(4, 8), dtype="int64", least=0, greatest=127),
                    Value("a", "int", scalar=3),
                ),
            ),
        ),
        layer=Layer("Embedding", "embed", "Model", sizes={"num_embeddings": 100}),
        steps=40,
        swallowed=True,
    )
    return Recording(
        [
            Script(FILE, text, main=True),
            replace(swallowed, **changes),  # type: ignore[arg-type]
            crash,
            Steps(PROCESS, 60, 1.0, 60, {}, ()),
            Ended(("python", FILE), FILE, 0, 2.0),
        ]
    )


def indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 99


def assigned(line: str) -> tuple[str, str]:
    if line.startswith("return "):
        return "return", line.removeprefix("return ")
    name, _, value = line.partition(" = ")
    return name, value


def found(seen: Recording) -> list[Finding]:
    return list(RULE.look(seen))


NUMBER = """
    def evaluate(model, batch):
        try:
            ppl = model(batch).exp().item()
        except Exception:
            ppl = 10000.0
        return ppl
"""


def test_the_line_that_put_the_number_there_is_the_place() -> None:
    (finding,) = found(recorded(NUMBER))
    assert finding.place == Place(FILE, 5, 5)
    assert finding.headline == (
        "`ppl` = 10000.0 was never measured: evaluation failed 12 of 12 times,"
        " and this line put the number there."
    )
    assert finding.severity is Severity.ERROR
    assert finding.python_said == SAID
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["the real error"] == SAID
    assert facts["raised at"] == "train.py:3  ppl = model(batch).exp().item()"
    assert facts["module"] == "`embed`, Embedding(100)"
    assert facts["`batch`"] == "int64 (4, 8), from 0 to 127"
    assert "`a`" not in facts


def test_the_fix_lets_the_error_through_and_is_never_called_proved() -> None:
    seen = recorded(NUMBER)
    (finding,) = found(seen)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.must is None
    assert "mended" in fix.why_not_tried
    source = seen.source(FILE)
    assert source is not None
    assert "except Exception:\n        raise\n" in patched(fix.edit, source.text)


def test_a_number_that_the_handler_gives_back_is_named_by_its_function() -> None:
    text = NUMBER.replace("ppl = 10000.0", 'return float("inf")')
    (finding,) = found(recorded(text))
    assert finding.headline.startswith("inf, which `evaluate` gave back, was never measured:")


SUMS = """
    def evaluate(model, batches):
        total, count = 0.0, 0
        for batch in batches:
            try:
                total += model(batch).item()
                count += 1
            except Exception as error:
                print("skipped", error)
                continue
        mean = total / count if count else float("inf")
        ppl = min(math.exp(mean) if mean < 20 else float("inf"), 10000.0)
        return mean, ppl
"""


def test_sums_that_were_never_added_to_are_followed_to_the_number() -> None:
    (finding,) = found(recorded(SUMS))
    assert finding.place == Place(FILE, 7)
    assert finding.headline == (
        "`ppl` = 10000.0 was never measured: evaluation failed 12 of 12 times,"
        " and this `except` hid the error."
    )
    assert "ppl = 10000.0, train.py:11" in [fact.value for fact in finding.facts]


def test_of_sums_that_were_added_to_no_number_is_claimed() -> None:
    (finding,) = found(recorded(SUMS, times=8))
    assert finding.headline == ("Evaluation failed 8 of 12 times, and this `except` hid the error.")


def test_training_is_told_from_evaluation() -> None:
    text = SUMS.replace("count += 1", "loss.backward()")
    (finding,) = found(recorded(text, training=True, grad=True))
    assert finding.headline == ("Training failed 12 of 12 times, and this `except` hid the error.")


@pytest.mark.parametrize(
    "changes",
    [
        {"ran": ()},
        {"times": 6},
        {"said": "StopIteration"},
        {"said": "KeyboardInterrupt"},
    ],
    ids=["no-model", "half", "stop-iteration", "interrupt"],
)
def test_what_is_no_failure_of_a_model_is_left_alone(changes: dict[str, object]) -> None:
    assert found(recorded(SUMS, **changes)) == []


@pytest.mark.parametrize(
    "handler",
    [
        "raise",
        "sys.exit(1)",
        "loss = model(batch.float())",
        "loss = slow_loss(batch)",
        "return evaluate_slowly(batch)",
    ],
)
def test_handlers_that_pass_it_on_or_compute_in_another_way_are_left_alone(handler: str) -> None:
    text = f"""
        def evaluate(model, batch):
            try:
                loss = model(batch)
            except Exception:
                {handler}
            return loss
    """
    assert found(recorded(text)) == []


def test_an_exception_that_the_script_defines_is_control_flow() -> None:
    text = NUMBER + "\n    class Enough(Exception):\n        pass\n"
    assert found(recorded(text, said="Enough")) == []
    assert found(recorded(text, said="__main__.Enough: done")) == []
    assert len(found(recorded(text))) == 1


RETRY = """
    def fit(model, rows):
        while True:
            try:
                loss = model(rows)
                break
            except RuntimeError:
                rows = rows[: len(rows) // 2]
        return loss
"""


def test_a_loop_that_tries_until_it_works_is_left_alone() -> None:
    assert found(recorded(RETRY, times=11)) == []
    assert len(found(recorded(RETRY))) == 1


def test_what_was_raised_again_and_ended_the_run_is_not_swallowed() -> None:
    seen = recorded(SUMS)
    crash = next(seen.all(Crash))
    seen.observations.append(replace(crash, id="7-2", swallowed=False))
    assert found(seen) == []


TOLD = """
    for batch in batches:
        try:
            loss = model(batch)
            board.add_scalar("loss", loss)
        except Exception:
            pass
"""


@pytest.mark.parametrize(
    ("file", "line", "expected"),
    [
        ("tensorboard/writer.py", 4, 0),
        ("torch/nn/modules/module.py", 4, 1),
        ("tensorboard/writer.py", 3, 1),
    ],
    ids=["telling", "in-a-module", "before-the-end"],
)
def test_a_library_that_could_not_be_told_of_a_result(file: str, line: int, expected: int) -> None:
    seen = recorded(TOLD, raised_at=Place(FILE, line))
    crash = next(seen.all(Crash))
    frames = (*crash.frames, Frame(Place(file, 90), "inner", own=False))
    seen.observations[seen.observations.index(crash)] = replace(crash, frames=frames)
    assert len(found(seen)) == expected


PROBE = """
    try:
        model(x.half())
        can_halve = True
    except RuntimeError:
        can_halve = False
"""


def test_a_single_failure_that_sets_a_flag_is_a_test_of_the_machine() -> None:
    assert found(recorded(PROBE, times=1, entries=1)) == []


def test_a_single_failure_after_which_training_went_on_is_left_alone() -> None:
    text = PROBE.replace("can_halve = False", "pass")
    assert found(recorded(text, times=1, entries=1)) == []


def test_a_single_failure_that_ended_the_work_is_told() -> None:
    narrow = PROBE.replace("can_halve = False", "pass")
    blind = narrow.replace("RuntimeError", "Exception")
    for text, expected in ((narrow, []), (blind, ["Evaluation failed 1 of 1 times"])):
        seen = recorded(text, times=1, entries=1)
        steps = next(seen.all(Steps))
        seen.observations[seen.observations.index(steps)] = replace(steps, steps=40)
        assert [one.headline.partition(",")[0] for one in found(seen)] == expected


def test_several_kinds_of_one_handler_are_one_finding() -> None:
    seen = recorded(SUMS, times=5)
    first = next(seen.all(Swallowed))
    seen.observations.append(replace(first, times=4, said="ValueError: no", crash=None))
    (finding,) = found(seen)
    assert finding.headline.startswith("Evaluation failed 9 of 12 times")
    assert finding.python_said == SAID


READ = """
    import torch
    def evaluate(model, loader):
        model.eval()
        losses = []
        for batch in loader:
            try:
                losses.append(model(batch).item())
            except {kind}:
                {handler}
        return sum(losses)
"""


def read_only(text: str) -> list[Finding]:
    return found(Recording([Script(FILE, dedent(text).lstrip("\n"))]))


def test_a_script_that_is_only_read_gets_a_warning() -> None:
    (finding,) = read_only(READ.format(kind="Exception as error", handler="print(error)"))
    assert finding.severity is Severity.WARNING
    assert finding.place == Place(FILE, 8)
    assert finding.headline == ("Whatever `model` raises in evaluation is hidden by this `except`.")


@pytest.mark.parametrize(
    ("kind", "handler"),
    [
        ("StopIteration", "pass"),
        ("torch.OutOfMemoryError", "continue"),
        ("Exception", "raise"),
        ("Exception", "failed += 1"),
    ],
)
def test_what_is_not_certain_from_reading_is_not_said(kind: str, handler: str) -> None:
    assert read_only(READ.format(kind=kind, handler=handler)) == []


def test_reading_says_nothing_about_a_script_that_was_run() -> None:
    text = dedent(READ.format(kind="Exception", handler="pass")).lstrip("\n")
    assert found(Recording([Script(FILE, text), Ended(("python",), FILE, 0, 1.0)])) == []
