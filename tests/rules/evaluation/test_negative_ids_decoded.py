"""Negative ids that were to be decoded, on hand-made recordings."""

from textwrap import dedent
from typing import Any

import pytest

from recorded_findings import found
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question, Value
from surefit.rules.evaluation.negative_ids_decoded import RULE
from surefit.source.spans import Span

TEXT = dedent(
    """\
    import os
    def metrics(outputs):
        guesses, labels = outputs
        said = tok.batch_decode(guesses)
        meant = tok.batch_decode(labels)
        return said == meant
    """
)


def crash(*between: str, library: str = "transformers/tokenization_utils_base.py") -> Crash:
    frames = (
        *(Frame(Place("transformers/trainer.py", 1), name, own=False) for name in between),
        Frame(
            Place("eval.py", 5),
            "metrics",
            own=True,
            line="meant = tok.batch_decode(labels)",
            expression="tok.batch_decode(labels)",
            span=Span(5, 12, 5, 36),
            values=(Value("labels", "ndarray", 7, shape=(4, 9), dtype="int64"),),
        ),
        Frame(Place(library, 9), "decode", own=False),
    )
    return Crash("1-1", 1.0, Process(1), "OverflowError", "OverflowError: too small", frames)


def answer(one: Crash, text: str, said: dict[str, Any] | None) -> Answer:
    at = len(one.frames) - 2
    about = {"frame": at, "text": text, "tokenizer": "tok"}
    return Answer(Question("negative-numbers", "1-1", about), said)


def numbers(**more: Any) -> dict[str, Any]:
    plain = {"below": 5, "elements": 36, "first": [-100], "greatest": 61, "kind": "array", "pad": 0}
    return {**plain, **more}


def decoded(broken: Crash, *answers: Answer) -> list[Finding]:
    known = {told.question.about["text"] for told in answers}
    others = [answer(broken, text, None) for text in ("labels", "guesses") if text not in known]
    return found(RULE, TEXT, broken, *answers, *others, file="eval.py")


def texts(finding: Finding) -> list[str]:
    edit = finding.fixes[0].edit
    return [change.text for change in edit.changes] if edit else []


def test_the_pad_token_takes_the_place_of_the_mark() -> None:
    one = crash()
    (finding,) = decoded(one, answer(one, "labels", numbers()))
    assert finding.place == Place("eval.py", 5)
    assert texts(finding) == [
        "np.where(labels != -100, labels, tok.pad_token_id)",
        "import numpy as np\n",
    ]


def test_other_arrays_are_changed_where_they_are_negative_too_or_a_trainer_pads_them() -> None:
    one, clean = crash(), numbers(below=0, first=[])
    (finding,) = decoded(one, answer(one, "labels", numbers()), answer(one, "guesses", clean))
    assert len(texts(finding)) == 2
    one = crash("Trainer.evaluation_loop")
    (finding,) = decoded(one, answer(one, "labels", numbers()), answer(one, "guesses", clean))
    assert texts(finding)[0].startswith("np.where(guesses != -100")


@pytest.mark.parametrize(
    ("said", "new"),
    [
        (numbers(kind="tensor"), "labels.masked_fill(labels == -100, tok.pad_token_id)"),
        (numbers(kind="list"), "[token for token in labels if token != -100]"),
        (numbers(kind="lists"), "[[token for token in row if token != -100] for row in labels]"),
        (numbers(first=[-100, -1]), "np.where(labels >= 0, labels, tok.pad_token_id)"),
        (numbers(pad=None, eos=1), "np.where(labels != -100, labels, tok.eos_token_id)"),
    ],
)
def test_each_kind_of_ids_in_its_own_words(said: dict[str, Any], new: str) -> None:
    one = crash()
    (finding,) = decoded(one, answer(one, "labels", said))
    assert texts(finding)[0] == new


def test_ids_that_are_all_tokens_failed_for_another_reason() -> None:
    one = crash()
    assert decoded(one, answer(one, "labels", numbers(below=0, first=[]))) == []


def test_a_decode_of_something_else_is_not_meant() -> None:
    one = crash(library="json/decoder.py")
    assert decoded(one, answer(one, "labels", numbers())) == []
