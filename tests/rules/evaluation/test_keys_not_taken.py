"""Keys of a batch that a model has no argument for, on hand-made recordings."""

from failed_operations import crash, span_of
from recorded_crashes import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Question, Value
from surefit.rules.evaluation.keys_not_taken import RULE
from surefit.source.edits import patched

MODEL = Layer("Model", "", "Model")


def dictionary(text: str, *keys: str) -> Value:
    inside = {key: Value(key, "Tensor", shape=(3, 5), dtype="int64") for key in keys}
    return Value(text, "dict", 7, members=inside)


def generated(
    text: str, call: str, keys: tuple[str, ...], unused: tuple[str, ...]
) -> list[Finding]:
    line = text.count("\n")
    listed = {str(at): Value(one, "str", scalar=one) for at, one in enumerate(unused)}
    frames = (
        Frame(
            Place("train.py", line),
            "<module>",
            True,
            text.splitlines()[-1],
            call,
            span_of(text, line, call),
            (dictionary("batch", *keys),),
        ),
        Frame(
            Place("transformers/generation/utils.py", 9),
            "GenerationMixin._validate_model_kwargs",
            False,
            values=(
                Value("unused_model_args", "list", members=listed),
                dictionary("model_kwargs", *keys),
            ),
            layer=MODEL,
        ),
    )
    told = frames[0].values[0]
    made = "tokenizer(texts, return_tensors='pt')"
    chain = (("batch", told), (made, told)) if made in text else ()
    return look(RULE, text, crash(*frames), chains={(0, "batch"): chain})


def test_the_tokenizer_is_told_not_to_give_them() -> None:
    call = "model.generate(**batch)"
    text = f"batch = tokenizer(texts, return_tensors='pt')\nout = {call}\n"
    keys = "input_ids", "token_type_ids"
    (finding,) = generated(text, call, keys, ("token_type_ids",))
    assert finding.place == Place("train.py", 1, 1)
    assert finding.fixes[0].edit is not None
    assert "return_token_type_ids=False" in patched(finding.fixes[0].edit, text)
    assert finding.fixes[0].must is not None


def test_what_is_needed_is_given_by_name() -> None:
    call = "model.generate(**batch)"
    (finding,) = generated(f"out = {call}\n", call, ("input_ids", "kind"), ("kind",))
    assert finding.fixes[0].edit is not None
    after = patched(finding.fixes[0].edit, f"out = {call}\n")
    assert after == 'out = model.generate(input_ids=batch["input_ids"])\n'


def test_a_misspelled_argument() -> None:
    call = "model.generate(ids, max_new_token=4)"
    (finding,) = generated(f"out = {call}\n", call, ("input_ids",), ("max_new_token",))
    assert "max_new_tokens" in finding.headline


def test_a_forward_that_has_no_such_argument() -> None:
    text = "loss = model(**batch)\n"
    span = span_of(text, 1, "model(**batch)")
    frames = (
        Frame(Place("train.py", 1), "<module>", True, text.strip(), "model(**batch)", span, ()),
        Frame(
            Place("torch/nn/modules/module.py", 9),
            "Module._call_impl",
            False,
            values=(dictionary("kwargs", "ids", "row"),),
            layer=MODEL,
        ),
    )
    for open_, count in ((False, 1), (True, 0)):
        said = {"kind": "Model", "takes": ["ids"], "needs": [], "open": open_, "own": True}
        answer = Answer(Question("forward", "1-1"), said)
        assert len(look(RULE, text, crash(*frames), answer)) == count
