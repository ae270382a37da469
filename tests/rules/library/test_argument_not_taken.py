"""Arguments that are not taken, on hand-made recordings: new names, and what is passed over."""

from typing import Any

from surefit.doctor.conditions.arguments import ArgumentsFit
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.laws.crashes import violations_in
from surefit.rules.library.argument_not_taken import RULE
from surefit.source.edits import patched
from surefit.source.spans import Span

IMPORTS = "from library import Settings, Worker\n"
SETTINGS = {
    "name": "Settings",
    "package": "transformers",
    "version": "9.1",
    "takes": ["eval_strategy", "use_cpu", "seed", "max_length"],
    "any": False,
}
WORKER = {**SETTINGS, "name": "Worker", "takes": ["model", "args", "processing_class"]}


def look(seen: Recording) -> list[Finding]:
    broken: list[str] = []
    findings = list(RULE.look(seen, violations_in(seen, broken)))
    assert broken == []
    return findings


def answered(seen: Recording, known: dict[str, Any]) -> list[Answer]:
    """What the probe says; of other questions nothing."""
    return [
        Answer(
            question,
            {"functions": {k: v for k, v in known.items() if k in question.about["texts"]}}
            if question.kind == "signature"
            else None,
        )
        for question in seen.open_questions
    ]


def found(text: str, at: int = 2, kind: str = "TypeError", **functions: Any) -> list[Finding]:
    """The call at a line failed; it stands behind `x = `."""
    text = IMPORTS + text
    line = text.splitlines()[at - 1]
    own = Frame(
        Place("train.py", at), "<module>", own=True, line=line, span=Span(at, 4, at, len(line))
    )
    crash = Crash("1-1", 1.0, Process(1), kind, "TypeError: no", (own,))
    known = {"Settings": SETTINGS, "Worker": WORKER, **functions}
    seen = Recording([Script("train.py", text), crash])
    look(seen)
    seen.observations += answered(seen, known)
    return look(seen)


def fixed(finding: Finding, text: str) -> str:
    edit = finding.fixes[0].edit
    assert edit is not None
    return patched(edit, IMPORTS + text).removeprefix(IMPORTS)


def test_the_new_name_is_the_one_that_the_signature_has() -> None:
    text = 'x = Settings(seed=1, evaluation_strategy="epoch", no_cuda=True)\n'
    (finding,) = found(text)
    assert finding.place == Place("train.py", 2)
    assert "takes no `evaluation_strategy` and `no_cuda`" in finding.headline
    assert fixed(finding, text) == 'x = Settings(seed=1, eval_strategy="epoch", use_cpu=True)\n'
    must = finding.fixes[0].must
    assert isinstance(must, ArgumentsFit)
    assert must.names == ("seed", "eval_strategy", "use_cpu")


def test_a_misspelled_name_is_the_nearest_one() -> None:
    text = "x = Settings(max_lenght=3)\n"
    (finding,) = found(text)
    assert fixed(finding, text) == "x = Settings(max_length=3)\n"


def test_an_argument_that_moved_to_the_settings_goes_there() -> None:
    text = "s = Settings(seed=1)\nx = Worker(args=s, max_seq_length=8)\n"
    (finding,) = found(text, at=3)
    assert fixed(finding, text) == "s = Settings(seed=1, max_length=8)\nx = Worker(args=s)\n"


def test_other_calls_of_the_file_are_mended_with_it() -> None:
    text = "x = Settings(no_cuda=True)\ny = Worker(args=x, tokenizer=t)\n"
    (finding,) = found(text)
    after = fixed(finding, text)
    assert after == "x = Settings(use_cpu=True)\ny = Worker(args=x, processing_class=t)\n"


def test_keys_of_a_dictionary_are_arguments() -> None:
    text = 'd = {"evaluation_strategy": "no"}\nx = Settings(**d)\n'
    (finding,) = found(text, at=3)
    assert finding.place == Place("train.py", 2)
    assert fixed(finding, text).startswith('d = {"eval_strategy": "no"}')


def test_what_has_no_successor_can_be_removed_by_choice() -> None:
    text = "x = Settings(seed=1, colour=3)\n"
    (finding,) = found(text)
    assert fixed(finding, text) == "x = Settings(seed=1)\n"
    assert finding.fixes[0].choice


def test_functions_that_take_any_name_and_other_faults_are_passed_over() -> None:
    assert found("x = Settings(colour=3)\n", Settings={**SETTINGS, "any": True}) == []
    assert found("x = Settings(seed=3)\n") == []
    assert found("x = Settings(colour=3)\n", kind="ValueError") == []


def test_nothing_is_said_before_the_signature_is_known() -> None:
    own = Frame(Place("train.py", 1), "<module>", own=True, span=Span(1, 0, 1, 6))
    crash = Crash("1-1", 1.0, Process(1), "TypeError", "TypeError: no", (own,))
    seen = Recording([Script("train.py", "f(a=1)\n"), crash])
    assert look(seen) == []
    asked = Question("signature", "1-1", {"frame": 0, "texts": ["f"]})
    assert asked in seen.open_questions


def in_a_dictionary(text: str, members: list[str]) -> list[Finding]:
    """`x = Settings(**given["settings"])` at line 3, where `given` is an argument."""
    text = IMPORTS + text
    line = text.splitlines()[2]
    held = {name: Value(name, "int", scalar=1) for name in members}
    own = Frame(
        Place("train.py", 3),
        "build",
        own=True,
        line=line.strip(),
        span=Span(3, 8, 3, len(line)),
        values=(Value("given['settings']", "dict", 1, members=held),),
    )
    crash = Crash("1-1", 1.0, Process(1), "TypeError", "TypeError: no", (own,))
    seen = Recording([Script("train.py", text), crash])
    look(seen)
    seen.observations += answered(seen, {"Settings": SETTINGS})
    return look(seen)


BUILD = 'def build(given):\n    x = Settings(**given["settings"])\n'


def test_names_of_a_dictionary_are_mended_where_it_is_written() -> None:
    text = BUILD + 'build({"settings": {"seed": 1, "no_cuda": 1, "use_mps_device": 1}})\n'
    (finding,) = in_a_dictionary(text, ["seed", "no_cuda", "use_mps_device"])
    assert finding.place == Place("train.py", 4)
    assert fixed(finding, text) == BUILD + 'build({"settings": {"seed": 1, "use_cpu": 1}})\n'


def test_names_that_come_from_a_file_are_told_at_the_call() -> None:
    (finding,) = in_a_dictionary(BUILD + "build(load())\n", ["seed", "no_cuda"])
    assert finding.place == Place("train.py", 3)
    assert "it is called `use_cpu` there" in finding.headline
    assert finding.fixes[0].edit is None
