"""A run's trained model, to score rows with or to ask."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefit.data.rows import Fields, Row, read_rows
from surefit.data.templates import Tokenizer, choose_template
from surefit.data.tokens import RowTokenizer, TokenSet, tokenize
from surefit.data.turns import Turn
from surefit.doctor.findings import Place
from surefit.errors import refuse_if
from surefit.metrics.evaluation import Evaluation, evaluate
from surefit.models.answer import answers
from surefit.models.load import find_model, load_model, load_tokenizer
from surefit.models.lora import count_trainable
from surefit.render.console import progress
from surefit.settings import from_names
from surefit.train.device import choose_threads
from surefit.train.record import RunFolder

from .sft_settings import LoraSft

MAX_NEW_TOKENS = 256


@dataclass(frozen=True, slots=True)
class Trained:
    """The model of a run as its best epoch left it, with the settings it was trained under."""

    settings: LoraSft
    model: Any
    tokenizer: Tokenizer

    def ask(self, text: str) -> str:
        """The answer to one prompt, rendered as the rows of the run were."""
        asked = Row(0, Place("prompt"), (Turn("user", text), Turn("assistant", "")))
        tokens = self._tokens([asked])
        most = self.settings.max_new_tokens or MAX_NEW_TOKENS
        prompts = [one.prompt for one in tokens.tokens]
        return answers(self.model, self.tokenizer, prompts, max_new_tokens=most, batch_size=1)[0]

    def score(self, data: str, fields: Fields, *, skip_bad_rows: bool = False) -> Evaluation:
        read = read_rows(data, fields, skip_bad_rows=skip_bad_rows)
        tokens = self._tokens(read.rows)
        refuse_if(() if skip_bad_rows else tokens.bad.findings(len(read.rows)))
        longest = int(tokens.answer_lengths.max())
        with progress("Answering rows", len(tokens)) as bar:
            return evaluate(
                self.model,
                self.tokenizer,
                tokens,
                max_new_tokens=self.settings.max_new_tokens or longest + 8,
                batch_size=self.settings.generate_batch_size,
                each=bar.step,
            )

    def _tokens(self, rows: Sequence[Row]) -> TokenSet:
        template = choose_template(self.settings.template, self.tokenizer)
        return tokenize(rows, RowTokenizer(self.tokenizer, template, self.settings.max_tokens))


def load_trained(path: Path) -> Trained:
    from peft import PeftModel

    folder = RunFolder(path)
    settings = from_names(LoraSft, folder.read_settings())
    trained = folder.trained()
    source = find_model(
        str(trained) if settings.full else settings.model,
        trust_remote_code=settings.trust_remote_code,
    )
    model = load_model(source)
    choose_threads(settings.threads, count_trainable(model).all)
    if not settings.full:
        model = PeftModel.from_pretrained(model, str(trained))
    tokenizer = load_tokenizer(source, settings.pad_token)
    return Trained(settings, model.eval(), tokenizer)
