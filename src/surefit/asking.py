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
    """The answer of a trained model; `str()` gives its text."""

    text: str
    """The answer, without EOS."""

    question: str
    """The prompt."""

    run: str
    """The run folder of the model."""

    def __str__(self) -> str:
        return self.text


def ask(run: str | Path, text: str, *, system: str | None = None) -> ModelAnswer:
    """Sends one prompt to a trained model: `surefit.ask("runs/sft-1", "Who has to pay?")`.

    The prompt is built like the training rows.

    run
        A run folder.
    text
        The prompt, like the `input` of a row.
    system
        Replaces the system message of the training rows; an empty text removes it.
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

    A run of `pretrain` is scored on a folder of arrays and returns a `FeatureScore`.

    run
        A run folder.
    data
        Rows: a file, a folder, a Hub dataset, `embedded`, or rows in memory.
    input_field, target_field, text_field
        The columns of prompts, answers and plain texts; by default as in training.
    system
        The system message for rows without one; by default that of the training rows, if they all
        had the same. An empty text means none.
    skip_bad_rows
        Skip rows that cannot be used instead of stopping.
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
