"""`surefit.eval` and `surefit.ask`: what the commands of these names do, from Python."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from surefit.data.in_memory import ENDING, GivenRows, store_rows
from surefit.data.working_folder import working_folder
from surefit.errors import BadInput
from surefit.recipes.trained import RunEvaluation, answers_no_text, load_trained
from surefit.recipes.trained_features import FeatureScore, score_features
from surefit.train.record import recipe_of


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a trained model answered; printed, it is the answer."""

    text: str
    """The answer, without the token that ends it."""

    question: str
    """What was asked."""

    run: str
    """The folder of the run that answered."""

    def __str__(self) -> str:
        return self.text


def ask(run: str | Path, text: str, *, system: str | None = None) -> ModelAnswer:
    """Asks a trained model one question: `surefit.ask("runs/sft-1", "Who has to pay?")`.

    The prompt is built as the rows of the training were.

    run
        The folder of a run.
    text
        The prompt, as it would stand in the `input` of a row.
    system
        The system turn, in place of the one that all training rows had; an empty one is none.
    """
    return ModelAnswer(load_trained(Path(run)).ask(text, system), text, str(run))


def evaluate(
    run: str | Path,
    data: GivenRows,
    *,
    input_field: str | None = None,
    target_field: str | None = None,
    text_field: str | None = None,
    system: str | None = None,
    skip_bad_rows: bool = False,
) -> RunEvaluation | FeatureScore:
    """Scores a trained model: `surefit.eval("runs/sft-1", "held-out.jsonl").score.f1`.

    A run of `pretrain` is scored on a folder of arrays, and gives a `FeatureScore`.

    run
        The folder of a run.
    data
        Rows: a file, a folder, a hub name, `embedded`, or rows in memory.
    input_field, target_field, text_field
        The columns that hold prompts, answers and plain texts; by default the run's.
    system
        The system turn of rows that have none; by default the one that all training rows had, and
        an empty one is none.
    skip_bad_rows
        Go on without rows that cannot be used, instead of refusing.
    """
    if recipe_of(Path(run)) == "pretrain":
        if not isinstance(data, str | Path):
            raise BadInput(answers_no_text(Path(run)))
        return score_features(Path(run), Path(data))
    trained = load_trained(Path(run))
    own = trained.fields
    fields = replace(
        own,
        input=input_field or own.input,
        target=target_field or own.target,
        text=text_field or own.text,
    )
    score = partial(trained.score, fields=fields, system=system, skip_bad_rows=skip_bad_rows)
    if isinstance(data, str | Path):
        return score(str(data))
    with working_folder() as work:
        stored = work / f"data{ENDING}"
        store_rows(data, stored)
        return score(str(stored))
