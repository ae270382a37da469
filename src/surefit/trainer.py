"""For people who stay with the Hugging Face Trainer: F1 of generated answers after each epoch.

trainer = Trainer(..., data_collator=surefit.PadRows(tokenizer),
                  callbacks=[surefit.AnswerF1(tokenizer, rows)])
"""

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import TrainerCallback

from surefit.data.rows import Row
from surefit.data.templates import PLAIN, PlainTemplate, Template, Tokenizer
from surefit.data.tokens import RowTokenizer, TokenSet, check_tokenizer, tokenize
from surefit.data.turns import Turn
from surefit.doctor.findings import Place
from surefit.metrics.evaluation import Evaluation, evaluate


class AnswerF1(TrainerCallback):
    """A Trainer callback that answers held-out rows after each epoch and prints the mean F1.

    Answers are generated greedily from left-padded prompts, whatever the padding side of the
    tokenizer. The mode of the model is restored. `scores` holds an `Evaluation` per epoch; the
    Trainer logs them as `eval_f1` and `eval_exact_match`.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        rows: Sequence[Mapping[str, str]],
        *,
        template: str | Template = PLAIN,
        max_tokens: int = 512,
        max_new_tokens: int = 64,
        batch_size: int = 16,
    ) -> None:
        check_tokenizer(tokenizer, str(getattr(tokenizer, "name_or_path", "tokenizer")))
        self.tokenizer = tokenizer
        self.max_new_tokens = max_new_tokens
        self.batch_size = batch_size
        chosen = PlainTemplate(template) if isinstance(template, str) else template
        self.rows = _tokens(rows, RowTokenizer(tokenizer, chosen, max_tokens))
        self.scores: list[Evaluation] = []

    def on_epoch_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:  # noqa: ARG002
        found = evaluate(
            parts["model"],
            self.tokenizer,
            self.rows,
            max_new_tokens=self.max_new_tokens,
            batch_size=self.batch_size,
        )
        self.scores.append(found)
        logged = {"eval_f1": found.score.f1, "eval_exact_match": found.score.exact_match}
        state.log_history.append({**logged, "epoch": state.epoch, "step": state.global_step})
        if state.is_world_process_zero:
            print(f"Epoch {round(state.epoch)}: Average F1 Score = {found.score.f1:.4f}")


def training_rows(
    tokenizer: Tokenizer,
    rows: Sequence[Mapping[str, str]],
    *,
    template: str | Template = PLAIN,
    max_tokens: int = 512,
) -> list[dict[str, list[int]]]:
    """Rows of `input` and `target` as the Trainer wants its `train_dataset`: ids and labels."""
    chosen = PlainTemplate(template) if isinstance(template, str) else template
    made = _tokens(rows, RowTokenizer(tokenizer, chosen, max_tokens))
    return [tokens.features() for tokens in made.tokens]


def _tokens(rows: Sequence[Mapping[str, str]], to_tokens: RowTokenizer) -> TokenSet:
    from surefit.errors import refuse_if

    made = tokenize(
        [
            Row(
                number,
                Place("rows", row=number + 1),
                (Turn("user", row["input"]), Turn("assistant", row["target"])),
            )
            for number, row in enumerate(rows)
        ],
        to_tokens,
    )
    refuse_if(made.bad.findings(len(rows)))
    return made
