"""What goes before and into a generation, on hand-made recordings."""

from dataclasses import replace
from typing import Any

from recorded_findings import found
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question, Value
from surefit.doctor.rule import Rule
from surefit.rules.evaluation import padding_without_a_pad_token, prompt_fills_max_length
from surefit.source.spans import Span

GENERATE = "out = model.generate(ids, max_length=20)"
TOKENIZE = 'batch = tok(texts, padding=True, return_tensors="pt")'


def look(rule: Rule, crash: Crash, text: str, *answers: Answer) -> list[Finding]:
    return found(rule, text, crash, *answers, file="eval.py")


def generating(prompt: int, limit: int) -> Crash:
    frames = (
        Frame(
            Place("eval.py", 1),
            "<module>",
            own=True,
            line=GENERATE,
            expression=GENERATE[6:],
            span=Span(1, 6, 1, len(GENERATE)),
        ),
        Frame(Place("transformers/generation/utils.py", 1), "GenerationMixin.generate", own=False),
        Frame(
            Place("transformers/generation/utils.py", 2),
            "GenerationMixin._validate_generated_length",
            own=False,
            values=(
                Value("input_ids_length", "int", scalar=prompt),
                Value("generation_config.max_length", "int", scalar=limit),
            ),
        ),
    )
    return Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: ...", frames)


def test_new_tokens_are_counted_alone() -> None:
    (finding,) = look(prompt_fills_max_length.RULE, generating(24, 20), GENERATE + "\n")
    assert finding.place == Place("eval.py", 1)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert [change.text for change in fix.edit.changes] == ["max_new_tokens=20"]


def test_a_prompt_that_leaves_room_failed_for_another_reason() -> None:
    assert look(prompt_fills_max_length.RULE, generating(12, 20), GENERATE + "\n") == []


def padding(**more: Any) -> tuple[Crash, Answer]:
    texts = Value("texts", "list", 3, length=4)
    frames = (
        Frame(
            Place("eval.py", 2),
            "<module>",
            own=True,
            line=TOKENIZE,
            values=(Value("tok", "Fast", 7), texts),
        ),
        Frame(
            Place("transformers/tokenization_utils_base.py", 1),
            "PreTrainedTokenizerBase._get_padding_truncation_strategies",
            own=False,
            values=(Value("self", "Fast", 7), Value("padding", "bool", scalar=True)),
        ),
    )
    crash = Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: ...", frames)
    said = {"pad": None, "eos": 0, "eos_token": "</s>", "size": 9, **more}
    return crash, Answer(Question("tokenizer-state", "1-1", {"frame": 1, "text": "self"}), said)


def padded(text: str, **more: Any) -> list[Finding]:
    crash, answer = padding(**more)
    return look(padding_without_a_pad_token.RULE, crash, text, answer)


def test_the_end_of_a_text_pads_where_the_tokenizer_is_made() -> None:
    (finding,) = padded(f"tok = load()\n{TOKENIZE}\n")
    assert finding.place == Place("eval.py", 1, 1)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.edit.changes[0].text == "tok.pad_token = tok.eos_token\n"
    assert fix.must is not None


def test_who_trains_is_told_what_masks_by_the_pad_id_do() -> None:
    (finding,) = padded(f"tok = load()\n{TOKENIZE}\nloss.backward()\n")
    assert "lose the ends of texts" in finding.fixes[0].text


def test_a_tokenizer_that_can_pad_failed_for_another_reason() -> None:
    assert padded(f"tok = load()\n{TOKENIZE}\n", pad=1) == []


def test_without_an_end_of_text_the_user_chooses() -> None:
    (finding,) = padded(f"tok = load()\n{TOKENIZE}\n", eos=None, eos_token=None)
    assert finding.fixes[0].edit is None


def test_another_method_of_a_tokenizer_is_not_meant() -> None:
    crash, answer = padding()
    last = replace(crash.frames[-1], values=crash.frames[-1].values[:1])
    crash = replace(crash, frames=(crash.frames[0], last))
    assert (
        look(padding_without_a_pad_token.RULE, crash, f"tok = load()\n{TOKENIZE}\n", answer) == []
    )
