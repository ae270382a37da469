"""What the shipped model answers, untrained, if asked in a form of its pretraining text.

    python -m tools.embedded.own_form

The task's form is unknown to it, so that its untrained score says little; here a clerk asks and a
guest replies, and stock phrases of the reply ("I think it was ...") are taken off.
"""

import re

from surefit.metrics.answers import score
from surefit.models.answer import answers
from surefit.models.load import find_model, load_model, load_tokenizer

from .judge import ROWS, TUNING_SEED
from .names import Part
from .task import make_rows
from .text import CURT, REPLIES

FIRST, LAST = 900, 1050


def without_phrase(reply: str) -> str:
    """What stands for the value in whichever phrase of the pretraining text this is."""
    for phrase in (*REPLIES, *CURT[2:]):  # the first two are the bare value
        before, after = phrase.split("{}")
        if reply.startswith(before) and reply.endswith(after):
            return reply[len(before) : len(reply) - len(after)]
    return reply


def main() -> None:
    source = find_model("embedded")
    tokenizer, model = load_tokenizer(source), load_model(source)
    rows = make_rows(ROWS, Part.TUNING, TUNING_SEED)[FIRST:LAST]
    asked = [re.sub(r"\n(.*)$", r"\nClerk: \1\nGuest:", row.input) for row in rows]
    prompts = [tokenizer(text)["input_ids"] for text in asked]
    said = answers(model, tokenizer, prompts, max_new_tokens=16, batch_size=50)
    replies = [without_phrase(text.split("\n")[0].strip()) for text in said]
    found = score(replies, [row.target for row in rows])
    print(f"F1 {found.f1:.3f}, exact match {found.exact_match:.3f} over {found.rows} rows")


if __name__ == "__main__":
    main()
