"""A run's trained model, to score rows with or to ask: its prompts are those of the training."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from surefit.data.known_rows import KnownRows, read_known_rows, with_system
from surefit.data.row_tokenizer import before_every_text
from surefit.data.rows import Fields, Kind, Row, read_rows
from surefit.data.templates import Tokenizer, choose_template
from surefit.data.text_tokens import tokenize_texts
from surefit.data.tokens import RowTokenizer, TokenSet, tokenize
from surefit.data.turns import Turn
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refuse_if
from surefit.losses.next_token import NextTokenLoss
from surefit.metrics.answers import AnswerScore, score
from surefit.metrics.evaluation import Evaluation, evaluate
from surefit.metrics.perplexity import Perplexity
from surefit.metrics.token_loss import token_loss
from surefit.models.answer import answers
from surefit.models.load import find_model, load_model, load_tokenizer
from surefit.models.lora import count_trainable
from surefit.render.console import progress, working
from surefit.settings import from_names
from surefit.train.device import choose_threads
from surefit.train.record import RunFolder, recipe_of

from .distill_settings import Distillation
from .sft_settings import LoraSft
from .token_rows import columns_of

ANSWERS_NO_TEXT = refusal(
    "SF160", "model-answers-no-text", "A model of features cannot be asked a question."
)

MAX_NEW_TOKENS = 256
GENERATE_BATCH_SIZE = 50
"""Where a recipe has no setting for it."""

SETTINGS: dict[str, type[LoraSft] | type[Distillation]] = {"sft": LoraSft, "distill": Distillation}


@dataclass(frozen=True, slots=True)
class PartScore:
    """What an evaluation comes to over some of its rows."""

    rows: int
    loss: Perplexity
    score: AnswerScore | None
    """None of plain texts, which have no answers."""


@dataclass(frozen=True, slots=True)
class RunEvaluation:
    """Scores of a run's model: on all rows, and on those that it was not trained on."""

    every: PartScore
    """On all rows: `rows`, `loss` and, if they have answers, `score`."""

    in_training: int | None
    """Number of rows that were trained on; None if the run has no record of its rows."""

    others: PartScore | None
    """On the rows that were not trained on; None if these are none or all rows."""

    predictions: tuple[dict[str, Any], ...]
    """For each row: `place`, `input`, `target`, `answer`, scores, and `in_training`."""

    @property
    def score(self) -> AnswerScore | None:
        return self.every.score


@dataclass(frozen=True, slots=True)
class Trained:
    """The model of a run as its best evaluation left it, with the settings it was trained under."""

    settings: LoraSft | Distillation
    model: Any
    tokenizer: Tokenizer
    known: KnownRows | None = None
    """None for a run that kept nothing of its rows."""

    @property
    def system(self) -> str | None:
        """The system turn that every training row began with."""
        return self.known.about.system if self.known else None

    @property
    def of_texts(self) -> bool:
        """Whether it was trained on plain texts: it continues what it is given."""
        return self.known is not None and self.known.about.kind == "text"

    def ask(self, text: str, system: str | None = None) -> str:
        """The answer to one prompt, rendered as the rows of the run were."""
        return Conversation(self, system).ask(text)

    def prompt(self, turns: Sequence[Turn]) -> list[int]:
        """The ids that the model is given to answer the last of these turns from."""
        if self.of_texts:
            text = "".join(turn.text for turn in turns)
            ids = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)
            return [*before_every_text(self.tokenizer), *ids["input_ids"]]
        asked = Row(0, Place("prompt"), (*turns, Turn("assistant", "")))
        tokens = self._tokens([asked], "messages")
        refuse_if(tokens.bad.findings(1))
        return tokens.tokens[0].prompt

    def answer(self, turns: Sequence[Turn]) -> str:
        """To the last of these turns."""
        most = self.settings.max_new_tokens or MAX_NEW_TOKENS
        return answers(
            self.model, self.tokenizer, [self.prompt(turns)], max_new_tokens=most, batch_size=1
        )[0]

    def score(
        self,
        data: str,
        fields: Fields | None = None,
        *,
        skip_bad_rows: bool = False,
        system: str | None = None,
    ) -> RunEvaluation:
        """Rows that have no system turn get `system`, or the one that all training rows had."""
        read = read_rows(data, fields or self.fields, skip_bad_rows=skip_bad_rows)
        system = self.system if system is None else system
        rows = [with_system(row, system) for row in read.rows]
        tokens = self._tokens(rows, read.kind)
        refuse_if(() if skip_bad_rows else tokens.bad.findings(len(rows)))
        answered = None if read.kind == "text" else self._answered(tokens)
        part = partial(self._part, tokens, answered)
        everywhere = range(len(tokens))
        if self.known is None:
            return RunEvaluation(part(everywhere), None, None, _predictions(answered, None))
        trained_on = self.known.holds(tokens.rows).tolist()
        others = [at for at in everywhere if not trained_on[at]]
        return RunEvaluation(
            part(everywhere),
            _rows_of(tokens, [at for at in everywhere if trained_on[at]]),
            part(others) if 0 < len(others) < len(tokens) else None,
            _predictions(answered, trained_on),
        )

    @property
    def fields(self) -> Fields:
        """The columns that the run took its rows from."""
        return columns_of(self.settings)

    def _answered(self, tokens: TokenSet) -> Evaluation:
        longest = int(tokens.answer_lengths.max())
        with progress("Answering rows", len(tokens)) as bar:
            return evaluate(
                self.model,
                self.tokenizer,
                tokens,
                max_new_tokens=self.settings.max_new_tokens or longest + 8,
                batch_size=getattr(self.settings, "generate_batch_size", GENERATE_BATCH_SIZE),
                each=bar.step,
            )

    def _part(
        self, tokens: TokenSet, answered: Evaluation | None, chosen: Sequence[int]
    ) -> PartScore:
        loss = token_loss(
            NextTokenLoss(self.model),
            tokens,
            chosen,
            pad_id=self.tokenizer.pad_token_id,
            batch_size=self.settings.batch_size,
        )
        if answered is None:
            return PartScore(_rows_of(tokens, chosen), loss, None)
        some = [answered.predictions[at] for at in chosen]
        scored = score([row["answer"] for row in some], [row["target"] for row in some])
        return PartScore(len(chosen), loss, scored)

    def _tokens(self, rows: Sequence[Row], kind: Kind) -> TokenSet:
        if kind == "text":
            return tokenize_texts(rows, self.tokenizer, self.settings.max_tokens)
        template = choose_template(self.settings.template, self.tokenizer)
        on_all = self.settings.loss_on == "all"
        to_tokens = RowTokenizer(
            self.tokenizer, template, self.settings.max_tokens, loss_on_all=on_all
        )
        return tokenize(rows, to_tokens)


@dataclass(slots=True)
class Conversation:
    """Questions to one model and its answers, each asked with all before it."""

    trained: Trained
    system: str | None = None
    """None: the one that all training rows had; an empty one is none."""

    turns: list[Turn] = field(default_factory=list)

    def ask(self, text: str) -> str:
        system = self.trained.system if self.system is None else self.system
        if not self.turns and system and not self.trained.of_texts:
            self.turns.append(Turn("system", system))
        self.turns.append(Turn("user", text))
        answer = self.trained.answer(self.turns)
        self.turns.append(Turn("assistant", answer))
        return answer


def load_trained(path: Path) -> Trained:
    recipe = recipe_of(path)
    if recipe == "pretrain":
        raise BadInput(answers_no_text(path))
    folder = RunFolder(path, recipe)
    settings = from_names(SETTINGS.get(recipe, LoraSft), folder.read_settings())
    trained = folder.trained()
    adapter = isinstance(settings, LoraSft) and not settings.full
    base = settings.model if isinstance(settings, LoraSft) and adapter else str(trained)
    source = find_model(base, trust_remote_code=settings.trust_remote_code)
    with working(f"loading {base}"):
        model = load_model(source)
    choose_threads(settings.threads, count_trainable(model).all)
    if adapter:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, str(trained))
    tokenizer = load_tokenizer(source, settings.pad_token)
    return Trained(settings, model.eval(), tokenizer, read_known_rows(path))


def _rows_of(tokens: TokenSet, chosen: Sequence[int]) -> int:
    """How many rows of the source these are: a long text is several rows of tokens."""
    return len({tokens.rows[at].number for at in chosen})


def _predictions(
    answered: Evaluation | None, trained_on: list[bool] | None
) -> tuple[dict[str, Any], ...]:
    """Each with whether its row was trained on."""
    if answered is None:
        return ()
    if trained_on is None:
        return answered.predictions
    both = zip(answered.predictions, trained_on, strict=True)
    return tuple({**prediction, "in_training": known} for prediction, known in both)


def answers_no_text(path: Path) -> Finding:
    return ANSWERS_NO_TEXT.finding(
        Place(str(path)),
        f"`{path}` is a run of `surefit pretrain`: its model takes features and answers no text.",
        facts=[Fact("it predicts", "masked or next steps of rows [steps, features]")],
        fixes=[Fix(f"Score it on a folder of arrays:  surefit eval {path} FOLDER")],
    )
