"""Tokenizers that number tokens differently, and ways to compare models that allow for it."""

from pathlib import Path
from typing import Any

import pytest

from running import forked_run
from teaching_scripts import script

RULE = "vocabulary-matched-by-position"

BODY = """
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

WORDS = "a b c d e f g h i j k l m n".split()
TEXTS = ["a b c d e f", "g h i j k l", "m n a b c d"]

def tokenizer_of(words):
    table = {word: number for number, word in enumerate(["<pad>", *words])}
    plain = Tokenizer(models.WordLevel(table, unk_token="<pad>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>")

def words(tokenizer):
    size = len(tokenizer)
    return nn.Sequential(nn.Embedding(size, 8), nn.Linear(8, size))

student_tokenizer = tokenizer_of(WORDS)
OTHER
student = words(student_tokenizer)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
ids = student_tokenizer(TEXTS, return_tensors="pt").input_ids
COLUMNS

def soft(given, wanted):
    n = min(given.size(-1), wanted.size(-1))
    return F.kl_div(given[..., :n].log_softmax(-1), wanted[..., :n].softmax(-1), reduction="sum")

for _ in range(4):
    given = student(ids)
    with torch.no_grad():
        wanted = ASKED
    loss = soft(given, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def body(other: str, asked: str = "teacher(ids)", columns: str = "") -> str:
    return BODY.replace("OTHER", other).replace("ASKED", asked).replace("COLUMNS", columns)


def teacher(words: str) -> str:
    return f"teacher_tokenizer = tokenizer_of({words})\nteacher = words(teacher_tokenizer).eval()"


REVERSED = teacher("WORDS[::-1]")
MATCHED = (
    "numbers = teacher_tokenizer.get_vocab()\n"
    "columns = [numbers[t] for t in student_tokenizer.convert_ids_to_tokens(range(15))]\n"
    "translated = torch.tensor(columns)[ids]"
)

BAD = {
    "as many tokens": body(REVERSED),
    "more tokens": body(teacher("['x', 'y', *WORDS]")),
    "each its own ids": body(
        REVERSED,
        "teacher(other_ids)",
        "other_ids = teacher_tokenizer(TEXTS, return_tensors='pt').input_ids",
    ),
}
GOOD = {
    "more at the end": body(teacher("[*WORDS, 'x', 'y']")),
    "one tokenizer": body("teacher = words(student_tokenizer).eval()"),
    "matched by strings": body(REVERSED, "teacher(translated)[..., columns]", MATCHED),
    "sorted": body(REVERSED, "teacher(ids).sort(-1).values"),
    "a tokenizer of something else": body(
        "scorer = tokenizer_of(WORDS[::-1])\nteacher = words(student_tokenizer).eval()"
    ),
}


def told(text: str, folder: Path) -> list[dict[str, Any]]:
    (folder / "train.py").write_text(script(text), encoding="utf-8")
    ran = forked_run(["train.py"], folder, ["--no-proof"])
    assert ran.document["not_observed"] == [], ran.err
    assert ran.document["ended"]["exception"] is None, ran.err
    found: list[dict[str, Any]] = ran.document["findings"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("form", BAD)
def test_columns_of_different_tokens_are_counted(form: str, tmp_path: Path) -> None:
    (finding,) = told(BAD[form], tmp_path)
    assert finding["rule"] == RULE
    assert "under 14 of the 15 ids" in finding["headline"]


@pytest.mark.slow
@pytest.mark.parametrize("form", GOOD)
def test_columns_of_the_same_tokens_get_no_word(form: str, tmp_path: Path) -> None:
    assert told(GOOD[form], tmp_path) == []
