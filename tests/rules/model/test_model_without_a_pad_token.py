"""Classifiers that do not know their padding, on hand-made recordings."""

from failed_operations import crash
from recorded_findings import found
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Json, Layer, Question, Value
from surefit.rules.model.model_without_a_pad_token import RULE
from surefit.source.edits import patched

KIND = "GPT2ForSequenceClassification"
TEXT = """\
tokenizer = make()
model = load(2)
for batch in batches:
    out = model(**batch)
"""
STATE: dict[str, Json] = {
    "pad": None,
    "eos": 5,
    "rows": 4,
    "padded": 6,
    "ids": [0],
    "used": 0,
    "difference": 1e-7,
}


def looked(said: Json, tokenizer: bool = True, kind: str = KIND) -> list[Finding]:
    layer = Layer(kind, "", kind, Place("train.py", 2))
    values = [Value("model", kind, 1, layer=layer)]
    values += [Value("tokenizer", "BertTokenizerFast", 2)] if tokenizer else []
    line = "out = model(**batch)"
    frames = (
        Frame(Place("train.py", 4), "<module>", True, line, line[6:], None, tuple(values)),
        Frame(Place("transformers/models/gpt2.py", 9), f"{kind}.forward", False, layer=layer),
    )
    answer = Answer(Question("single-rows", "1-1", {"frame": 1}), said)
    return found(RULE, TEXT, crash(*frames), answer)


def test_the_model_is_told_after_the_line_that_creates_it() -> None:
    for tokenizer, value in ((True, "tokenizer.pad_token_id"), (False, "0")):
        (finding,) = looked(STATE, tokenizer)
        assert finding.place == Place("train.py", 2)
        edit = finding.fixes[0].edit
        assert edit is not None
        assert f"load(2)\nmodel.config.pad_token_id = {value}\n" in patched(edit, TEXT)


def test_rows_that_were_filled_up_with_several_ids_prove_nothing() -> None:
    (finding,) = looked({**STATE, "ids": [0, 7]})
    assert finding.fixes[0].edit is None


def test_silence() -> None:
    assert looked({**STATE, "pad": 0}) == []
    assert looked({**STATE, "rows": 1}) == []
    assert looked(STATE, kind="GPT2LMHeadModel") == []
